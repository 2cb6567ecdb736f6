from workbook.common import inherited
from workbook.verbs.cli import main

inherited.settle()
main()

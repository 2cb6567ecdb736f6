from workbook.verbs.cli import main

main()

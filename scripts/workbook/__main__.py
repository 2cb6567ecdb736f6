from workbook.cli import main

main()

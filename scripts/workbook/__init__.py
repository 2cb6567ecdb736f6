"""The command behind scripts/hotpath: builds, checks and measures the workbook's servers."""

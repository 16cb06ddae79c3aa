package request

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// dataBytesMax bounds a file of values.
const dataBytesMax = 64 << 20

// readCSV returns the values in a column of a CSV file.
func readCSV(f field, column string) []any {
	name := f.value.(string)
	if !filepath.IsLocal(name) {
		f.fail("must be relative to the application file")
		return nil
	}
	values, err := readColumn(filepath.Join(f.document.folder(), name), column)
	if err != nil {
		f.fail("%s: %v", name, err)
	}
	return values
}

func readColumn(path, column string) (values []any, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > dataBytesMax {
		return nil, fmt.Errorf("is longer than %d MiB", dataBytesMax>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\uFEFF")))) // Spreadsheets begin files with it.
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	if err != nil || len(rows) < 2 {
		return nil, cmp.Or(err, errors.New("has no line of values behind one with the names of columns"))
	}
	place := slices.Index(rows[0], column)
	if place < 0 {
		return nil, fmt.Errorf("has no column %q", column)
	}
	for i, row := range rows[1:] {
		if place >= len(row) {
			return nil, fmt.Errorf("row %d has no %s", i+1, column)
		}
		values = append(values, row[place])
	}
	return values, nil
}

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

// readFile reads the values that a file has: a column of a CSV file, or a list as JSON or YAML. With a column, the items of
// the list are mappings that have it.
func (in *input) readFile(f field, column string) {
	name, _ := f.value.(string)
	if !filepath.IsLocal(name) {
		f.fail("must be relative to the application file")
		return
	}
	items, err := readData(filepath.Join(f.document.folder(), name), column)
	if err != nil {
		f.fail("%s: %v", name, err)
		return
	}
	f.value = items
	in.readChoices(f)
}

func readData(path, column string) ([]any, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > dataBytesMax {
		return nil, fmt.Errorf("is longer than %d MiB", dataBytesMax>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF")) // Spreadsheets begin text files with it.
	if filepath.Ext(path) == ".csv" {
		return readColumn(text, column)
	}
	d := &document{}
	items, isList := d.parse(text).([]any)
	switch {
	case len(d.mistakes) > 0:
		return nil, errors.New(d.mistakes[0].String())
	case !isList:
		return nil, errors.New("must be a list")
	case column == "":
		return items, nil
	}
	for i, each := range items {
		fields, _ := each.(object)
		var ok bool
		if items[i], ok = fields.get(column); !ok {
			return nil, fmt.Errorf("item %d has no %q", i, column)
		}
	}
	return items, nil
}

func readColumn(text []byte, column string) (items []any, err error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, cmp.Or(err, errors.New("has no first line with the names of columns"))
	}
	place := slices.Index(rows[0], column)
	if place < 0 {
		return nil, fmt.Errorf("has no column %q", column)
	}
	for i, row := range rows[1:] {
		if place >= len(row) {
			return nil, fmt.Errorf("row %d has no %s", i+1, column)
		}
		items = append(items, row[place])
	}
	return items, nil
}

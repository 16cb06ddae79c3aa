package request

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// dataBytesMax bounds a file of values.
const dataBytesMax = 64 << 20

// byteOrderMark is what spreadsheets begin text files with.
var byteOrderMark = []byte("\uFEFF")

// readFile reads the values that a file has: a column of a CSV file, or a JSON list. With a column, the items of the list
// are mappings that have it.
func (in *input) readFile(f field, column string) {
	var name string
	f.read(&name)
	if filepath.IsAbs(name) {
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
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if info.Size() > dataBytesMax {
		return nil, fmt.Errorf("is longer than %d MiB", dataBytesMax>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	if filepath.Ext(path) == ".csv" {
		return readColumn(text, column)
	}
	var read template
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("neither a CSV file (.csv) nor JSON: %w", err)
	}
	items, ok := read.value.([]any)
	if !ok {
		return nil, errors.New("must be a list")
	}
	for i, each := range items {
		if column == "" {
			break
		}
		if items[i] = pick(each, column); items[i] == (missing{}) {
			return nil, fmt.Errorf("item %d has no %q", i, column)
		}
	}
	return items, nil
}

func readColumn(text []byte, column string) (items []any, err error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("has no first line with the names of columns")
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

package stream

import "github.com/grafana/sobek"

// inspection counts a stream's items. Of a stream that is to be checked it also keeps the first and the last, for the
// script to look at: with the number they tell of items left out.
type inspection struct {
	kept        bool
	count       int64
	first, last []byte
}

func (i *inspection) take(item []byte) {
	i.count++
	if !i.kept {
		return
	}
	if i.count == 1 {
		i.first = append(i.first, item...)
	}
	i.last = append(i.last[:0], item...)
}

// shown returns an item as scripts see it: JSON as text, a message as an ArrayBuffer, nothing as null.
func shown(runtime *sobek.Runtime, item []byte, binary bool) any {
	switch {
	case item == nil:
		return nil
	case binary:
		return runtime.NewArrayBuffer(item)
	default:
		return string(item)
	}
}

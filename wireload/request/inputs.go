package request

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	letters   = "abcdefghijklmnopqrstuvwxyz0123456789"
	fixedText = "wirebench "
)

// itemSize is what an item of a repeated input counts for expandedMax, about what its slots and steps take.
const itemSize = 256

// input returns what an input stands for, expanded.
func (c *compiler) input(in *input) (any, error) {
	switch in.generator {
	case "seeded":
		return c.seededID(in)
	case "fresh":
		return c.freshID(in)
	case "created":
		base := c.options.IDBase
		return c.addNumber(base, base, func(u *user) int64 { return u.lastCreated(in.of) }), nil
	case "range":
		low, high := in.ends[0], in.ends[1]
		return c.addNumber(low, high, func(u *user) int64 { return low + u.random.Int64N(high-low+1) }), nil
	case "list":
		options := in.choices
		s := c.addSlot(optionKind, func(u *user, v *slotValue) { v.number = u.random.Int64N(int64(len(options))) })
		s.options = options
		if len(options) == 1 { // What is random stays the same with one more.
			return options[0], nil
		}
		return s, nil
	case "counter":
		first := in.counter
		return c.addNumber(first, first, func(u *user) int64 { return first + u.inTurn(u.requests) }), nil
	case "text":
		size, err := c.count(in.value)
		return strings.Repeat(fixedText, size/len(fixedText)+1)[:size], err
	case "bytes":
		size, err := c.count(in.value)
		return base64.StdEncoding.EncodeToString(countingBytes(size)), err
	case "random_text":
		return c.randomText(in)
	case "random_bytes":
		return c.randomBytes(in)
	case "payload":
		return c.expand(c.choosePayload(in))
	case "stream":
		return c.streamSetting(in.of), nil
	case "repeat":
		return c.repeat(in)
	}
	return c.expand(in.value.value)
}

// seededID is random. Where users do not mix operations, it is instead what the user has created itself, in turn.
func (c *compiler) seededID(in *input) (any, error) {
	count, err := c.countOr1(in.count)
	if err != nil {
		return nil, err
	}
	kind := in.of
	there, isKnown := c.options.Seeded[kind]
	if !isKnown {
		if there, isKnown = c.application.seeded.get(kind); !isKnown {
			return nil, fmt.Errorf("nothing is seeded as %q", kind)
		}
	}
	first, span := there.First+in.offset, max(1, there.Count-int64(count)+1)
	readsCreated := len(c.kind.Mix) == 0 && in.count.value == nil
	return c.addNumber(first, first+span-1, func(u *user) int64 {
		if readsCreated && len(u.created[kind]) > 0 {
			return u.nextCreated(kind) + in.offset
		}
		return first + u.random.Int64N(span)
	}), nil
}

func (c *compiler) freshID(in *input) (any, error) {
	count, err := c.countOr1(in.count)
	c.idsEach = max(c.idsEach, int64(count))
	base := c.options.IDBase
	return c.addNumber(base, base, func(u *user) int64 {
		u.fresh++
		return base + u.inTurn(u.fresh-1)*u.work.idsEach
	}), err
}

func (c *compiler) randomText(in *input) (any, error) {
	size, err := c.count(in.value)
	return c.addSlot(textKind, func(u *user, v *slotValue) {
		v.text = v.text[:0]
		for range size {
			v.text = append(v.text, letters[u.random.IntN(len(letters))])
		}
	}), err
}

func (c *compiler) randomBytes(in *input) (any, error) {
	size, err := c.count(in.value)
	return c.addSlot(bytesKind, func(u *user, v *slotValue) {
		v.bytes = v.bytes[:0]
		for len(v.bytes) < size {
			v.bytes = binary.LittleEndian.AppendUint64(v.bytes, u.random.Uint64())
		}
		v.bytes = v.bytes[:size]
		v.text = base64.StdEncoding.AppendEncode(v.text[:0], v.bytes)
	}), err
}

// choosePayload returns what the load's payload stands for; the first choice where it stands for nothing.
func (c *compiler) choosePayload(in *input) any {
	asked := c.options.Payload
	if size, err := strconv.ParseInt(asked, 10, 64); err == nil {
		if 0 <= size && size <= in.max {
			c.tookPayload = true
			return json.Number(asked)
		}
	} else if chosen, ok := in.payload.get(asked); ok {
		c.tookPayload = true
		return chosen.value
	}
	return in.payload[0].value.value
}

func (c *compiler) streamSetting(name string) any {
	switch {
	case name == "items":
		return json.Number(strconv.Itoa(c.options.StreamItems))
	case c.options.StreamRateLimit > 0:
		return json.Number(strconv.Itoa(c.options.StreamRateLimit))
	}
	return nil
}

// repeat returns a list, each of whose items is compiled by itself.
func (c *compiler) repeat(in *input) (any, error) {
	count, err := c.count(in.value)
	if err != nil {
		return nil, err
	}
	first, isCounting := c.known[in.counting]
	if in.counting != "" && !isCounting {
		return nil, atKey("counting", c.missingInput(in.counting))
	}
	if isCounting {
		defer func() { c.known[in.counting] = first }()
	}
	items := make([]any, count)
	for i := range items {
		if c.size += itemSize; c.size > expandedMax {
			return nil, errTooLarge
		}
		if isCounting {
			if c.known[in.counting], err = add(first, i); err != nil {
				return nil, atKey("counting", err)
			}
		}
		if items[i], err = c.input(in.repeated); err != nil {
			return nil, atKey("of", err)
		}
	}
	return items, nil
}

// add returns an expanded number plus n.
func add(value any, n int) (any, error) {
	switch value := value.(type) {
	case slot:
		if value.kind == numberKind {
			value.add, value.low, value.high = value.add+int64(n), value.low+int64(n), value.high+int64(n)
			return value, nil
		}
	case json.Number:
		if first, err := value.Int64(); err == nil {
			return json.Number(strconv.FormatInt(first+int64(n), 10)), nil
		}
	}
	return nil, errors.New("needs a whole number")
}

// count returns a number of characters, bytes or items, which is the same for all requests.
func (c *compiler) count(given template) (int, error) {
	value, err := c.expand(given.value)
	if err != nil {
		return 0, err
	}
	constant, err := textOf(value)
	if err != nil {
		return 0, errors.New("a size must be a number that is the same for all requests")
	}
	size, err := strconv.Atoi(constant)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("a size must be a whole number, not %s", shorten([]byte(constant)))
	}
	if c.size += min(size, expandedMax+1); c.size > expandedMax {
		return 0, errTooLarge
	}
	return size, nil
}

func (c *compiler) countOr1(given template) (int, error) {
	if given.value == nil {
		return 1, nil
	}
	return c.count(given)
}

func countingBytes(size int) []byte {
	counting := make([]byte, size)
	for i := range counting {
		counting[i] = byte(i)
	}
	return counting
}

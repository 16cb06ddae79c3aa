package request

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
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
func (c *compiler) input(in *input) any {
	switch in.generator {
	case "seeded":
		return c.seededID(in)
	case "fresh":
		c.idsEach = max(c.idsEach, int64(c.countOr1(in.count)))
		base := c.options.IDBase
		return c.addNumber(base, base, func(u *user) int64 {
			u.fresh++
			return base + u.inTurn(u.fresh-1)*u.work.idsEach
		})
	case "created":
		base := c.options.IDBase
		return c.addNumber(base, base, func(u *user) int64 { return u.lastCreated(in.of) })
	case "range":
		low, high := in.ends[0], in.ends[1]
		return c.addNumber(low, high, func(u *user) int64 { return low + u.random.Int64N(high-low+1) })
	case "list", "file":
		options := in.choices
		s := c.addSlot(optionKind, func(u *user, v *slotValue) { v.number = u.random.Int64N(int64(len(options))) })
		s.options = options
		return s
	case "counter":
		first := in.counter
		return c.addNumber(first, first, func(u *user) int64 { return first + u.inTurn(u.requests) })
	case "text":
		size := c.count(in.value)
		return strings.Repeat(fixedText, size/len(fixedText)+1)[:size]
	case "bytes":
		return base64.StdEncoding.EncodeToString(countingBytes(c.count(in.value)))
	case "random_text":
		return c.randomText(c.count(in.value))
	case "random_bytes":
		return c.randomBytes(c.count(in.value))
	case "payload":
		return c.payload(in)
	case "stream":
		return c.streamSetting(in.of)
	case "repeat":
		return c.repeat(in)
	}
	return c.expand(in.value)
}

// seededID is random. Where users do not mix operations, it is instead what the user has created itself, in turn.
func (c *compiler) seededID(in *input) any {
	count, kind := c.countOr1(in.count), in.of
	there, isKnown := c.application.seeded.get(kind)
	if !isKnown {
		in.place.fail("nothing is seeded as %q", kind)
	}
	first, span := there.First+in.offset, max(1, there.Count-int64(count)+1)
	readsCreated := len(c.kind.Mix) == 0 && in.count.value == nil
	return c.addNumber(first, first+span-1, func(u *user) int64 {
		if readsCreated && len(u.created[kind]) > 0 {
			return u.nextCreated(kind) + in.offset
		}
		return first + u.random.Int64N(span)
	})
}

func (c *compiler) randomText(size int) any {
	return c.addSlot(textKind, func(u *user, v *slotValue) {
		v.text = v.text[:0]
		for range size {
			v.text = append(v.text, letters[u.random.IntN(len(letters))])
		}
	})
}

func (c *compiler) randomBytes(size int) any {
	return c.addSlot(bytesKind, func(u *user, v *slotValue) {
		v.bytes = v.bytes[:0]
		for len(v.bytes) < size {
			v.bytes = binary.LittleEndian.AppendUint64(v.bytes, u.random.Uint64())
		}
		v.bytes = v.bytes[:size]
		v.text = base64.StdEncoding.AppendEncode(v.text[:0], v.bytes)
	})
}

// payload returns what the load's payload stands for; the first choice where it stands for nothing.
func (c *compiler) payload(in *input) any {
	asked := c.options.Payload
	if size, err := strconv.ParseInt(asked, 10, 64); err == nil && 0 <= size && size <= in.max {
		c.tookPayload = true
		return json.Number(asked)
	}
	chosen, ok := in.payload.get(asked)
	if !ok {
		return c.expand(in.payload[0].value)
	}
	c.tookPayload = true
	return c.expand(chosen)
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
func (c *compiler) repeat(in *input) any {
	count := c.count(in.value)
	first, isCounting := c.known[in.counting]
	if isCounting {
		defer func() { c.known[in.counting] = first }()
	} else if in.counting != "" {
		in.place.at("counting", nil).check(c.missingInput(in.counting))
	}
	items := make([]any, 0, count)
	for i := 0; i < count && c.size <= expandedMax; i++ {
		c.size += itemSize
		if isCounting {
			var err error
			if c.known[in.counting], err = add(first, i); err != nil {
				in.place.at("counting", nil).check(err)
				break
			}
		}
		items = append(items, c.input(in.repeated))
	}
	return items
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

// count returns a number of characters, bytes or items, which is the same for all requests; 0 if it is wrong.
func (c *compiler) count(given field) int {
	before := len(c.application.mistakes)
	constant, err := textOf(c.expand(given))
	if len(c.application.mistakes) > before {
		return 0
	}
	if err != nil {
		given.fail("a size must be a number that is the same for all requests")
		return 0
	}
	size, err := strconv.Atoi(constant)
	if err != nil || size < 0 {
		given.fail("a size must be a whole number, not %s", shorten([]byte(constant)))
		return 0
	}
	if c.size += min(size, expandedMax+1); c.size > expandedMax {
		return 0
	}
	return size
}

func (c *compiler) countOr1(given field) int {
	if given.value == nil {
		return 1
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

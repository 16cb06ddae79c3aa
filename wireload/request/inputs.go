package request

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
)

const (
	letters   = "abcdefghijklmnopqrstuvwxyz0123456789"
	fixedText = "wirebench "
	// itemSize is what an item of a list counts for sizesMax, about what its slots and steps take.
	itemSize = 256
)

// sizesMax bounds what the sizes of an operation's inputs make together. The fuzz test lowers it.
var sizesMax = 64 << 20

// input returns what an input stands for, expanded.
func (c *compiler) input(in field) any {
	switch of := generatorsOf(in)[0]; of.name {
	case "seeded":
		return c.seededID(in, of.value.(string))
	case "fresh":
		c.work.idsEach = max(c.work.idsEach, int64(c.count(in.getOr("count", json.Number("1")), 1)))
		base := c.work.options.IDBase
		return c.addNumber(base, base, func(u *user) int64 {
			u.fresh++
			return base + u.inTurn(u.fresh-1)*u.work.idsEach
		})
	case "created":
		base, kind := c.work.options.IDBase, of.value.(string)
		return c.addNumber(base, base, func(u *user) int64 {
			if ids := u.created[kind]; len(ids) > 0 {
				return ids[len(ids)-1]
			}
			return 0 // Next sees to it for an operation's first such input.
		})
	case "range":
		ends := of.each()
		low, high := ends[0].whole(), ends[1].whole()
		return c.addNumber(low, high, func(u *user) int64 { return low + u.random.Int64N(high-low+1) })
	case "list":
		options := of.value.([]any)
		s := c.addSlot(optionKind, func(u *user, v *slotValue) { v.number = u.random.Int64N(int64(len(options))) })
		s.options = options
		return s
	case "counter":
		first := of.whole()
		return c.addNumber(first, first, func(u *user) int64 { return first + u.inTurn(u.requests) })
	case "text":
		size := c.count(of, 1)
		return strings.Repeat(fixedText, size/len(fixedText)+1)[:size]
	case "bytes":
		counting := make([]byte, c.count(of, 1))
		for i := range counting {
			counting[i] = byte(i)
		}
		return base64.StdEncoding.EncodeToString(counting)
	case "random_text":
		size := c.count(of, 1)
		return c.addSlot(textKind, func(u *user, v *slotValue) {
			v.text = v.text[:0]
			for range size {
				v.text = append(v.text, letters[u.random.IntN(len(letters))])
			}
		})
	case "payload":
		return c.payload(of, in.get("max").whole())
	case "stream":
		setting := map[any]int{"items": c.work.options.StreamItems, "rate_limit_per_s": c.work.options.StreamRateLimit}[of.value]
		if setting == 0 && of.value != "items" {
			return nil
		}
		return json.Number(strconv.Itoa(setting))
	case "repeat":
		return c.repeat(in, c.count(of, itemSize))
	default: // value
		return c.expand(of)
	}
}

// seededID is random. Where users do not mix operations, it is instead what the user has created itself, in turn.
func (c *compiler) seededID(in field, kind string) any {
	count, offset, there := c.count(in.getOr("count", json.Number("1")), 1), in.get("offset").whole(), c.application.root.get("seeded").get(kind)
	if there.value == nil {
		in.fail("nothing is seeded as %q", kind)
	}
	first, span := there.get("first").whole()+offset, max(1, there.get("count").whole()-int64(count)+1)
	readsCreated := len(c.work.options.Work.Mix) == 0 && in.get("count").value == nil
	return c.addNumber(first, first+span-1, func(u *user) int64 {
		if ids := u.created[kind]; readsCreated && len(ids) > 0 {
			u.reads++
			return ids[(u.reads-1)%len(ids)] + offset
		}
		return first + u.random.Int64N(span)
	})
}

// payload returns what the load's payload stands for; the first choice where it stands for nothing.
func (c *compiler) payload(choices field, sizeMax int64) any {
	asked := c.work.options.Payload
	if size, err := strconv.ParseInt(asked, 10, 64); err == nil && 0 <= size && size <= sizeMax {
		c.work.tookPayload = true
		return json.Number(asked)
	}
	for _, each := range choices.each() {
		if each.name == asked {
			c.work.tookPayload = true
			return c.expand(each)
		}
	}
	return c.expand(choices.each()[0])
}

// repeat returns a list, each of whose items is compiled by itself, up to the first mistake. The number that `counting` names
// is one more in each.
func (c *compiler) repeat(in field, count int) (items []any) {
	counting, before := in.text("counting"), len(c.application.mistakes)
	if first, isKnown := c.known[counting]; isKnown {
		defer func() { c.known[counting] = first }()
	} else if counting != "" {
		in.get("counting").check(c.missingInput(counting))
	}
	for i := 0; i < count && len(c.application.mistakes) == before; i++ {
		items = append(items, c.input(in.get("of")))
		switch s, isSlot := c.known[counting].(slot); {
		case counting == "":
		case !isSlot || s.kind != numberKind:
			in.get("counting").fail("needs a number that differs from request to request")
		default:
			s.add, s.low, s.high = s.add+1, s.low+1, s.high+1
			c.known[counting] = s
		}
	}
	return items
}

// count returns a number of characters, bytes or items, each of a size; 0 if it is wrong.
func (c *compiler) count(given field, size int) int {
	before := len(c.application.mistakes)
	expanded := c.expand(given)
	constant, err := textOf(expanded)
	count, notWhole := strconv.Atoi(constant)
	switch {
	case len(c.application.mistakes) > before:
	case err != nil:
		given.fail("a size must be a number that is the same for all requests")
	case notWhole != nil || count < 0:
		given.fail("a size must be a whole number, not %s", shorten([]byte(constant)))
	case count > (sizesMax-c.sizes)/size:
		given.fail("expands to more than %d MiB", sizesMax>>20)
	default:
		c.sizes += count * size
		return count
	}
	return 0
}

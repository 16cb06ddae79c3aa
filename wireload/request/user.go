package request

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// user is a Source: one user of a load.
type user struct {
	work   *Workload
	number int64
	random *rand.Rand
	// current is the operation of the last request, and values are what was drawn for it.
	current    *compiled
	values     []slotValue
	path, body []byte
	headers    []Header
	// place is that in a sequence, or the call's in phases.
	place int
	// requests and fresh count those so far, and the ids that were given.
	requests, fresh int64
	// created are ids by kind of record, the newest last; reads counts those that were read in turn.
	created map[string][]int64
	reads   int
}

// NewSource returns the requests of a user: from 0 to Options.Users-1. No two users of a load create the same ids.
func (w *Workload) NewSource(number int) Source {
	u := &user{
		work:    w,
		number:  int64(number),
		random:  rand.New(rand.NewPCG(w.options.Seed, uint64(number))),
		created: map[string][]int64{},
	}
	slots, headers := 0, 0
	for _, each := range u.work.operations {
		slots, headers = max(slots, len(each.draws)), max(headers, len(each.headers))
	}
	u.values, u.headers = make([]slotValue, slots), make([]Header, headers)
	if len(u.work.options.Work.Phases) > 0 {
		u.place = -w.options.WarmupCalls
	}
	return u
}

// Next fills the next request.
func (u *user) Next(r *Request) {
	op := u.work.operations[u.nextOperation()]
	if op.deletes != "" && len(u.created[op.deletes]) == 0 {
		op = u.work.operations[op.instead]
	}
	for slot, draw := range op.draws {
		draw(u, &u.values[slot])
	}
	u.current = op
	u.requests++
	*r = op.template
	r.Path = op.path.fill(&u.path, u.values)
	r.Body = op.body.fill(&u.body, u.values)
	for i, each := range op.headers {
		u.headers[i] = Header{each.Name, each.Key, each.program.append(u.headers[i].Value[:0], u.values)}
	}
	r.Varying = u.headers[:len(op.headers)]
}

func (u *user) nextOperation() int {
	order := u.work.order
	switch {
	case len(u.work.options.Work.Sequence) > 0:
		place := u.place % len(order)
		u.place = place + 1
		return order[place]
	case len(u.work.options.Work.Phases) > 0:
		return order[u.nextPhase()]
	}
	return order[u.random.IntN(len(order))]
}

// nextPhase returns the phase of the next call. The calls of a warm-up go through all phases in turn.
func (u *user) nextPhase() int {
	phases, options := len(u.work.options.Work.Phases), &u.work.options
	callsEach := options.Calls / phases
	call := u.place
	u.place++
	switch {
	case call < 0:
		return (call + options.WarmupCalls) % phases
	case call > 0 && call < options.Calls && call%callsEach == 0:
		options.Wait()
	}
	return min(call/callsEach, phases-1)
}

// Settle records whether the last request succeeded.
func (u *user) Settle(ok bool) {
	op := u.current
	if ids := u.created[op.deletes]; op.deletes != "" && len(ids) > 0 {
		u.created[op.deletes] = ids[:len(ids)-1] // Also of a delete that failed: its record may be gone.
	}
	switch {
	case !ok:
		if len(u.work.options.Work.Sequence) > 0 {
			u.place = 0
		}
	case op.creates != "" && u.work.keepsCreated:
		ids := u.created[op.creates]
		if len(u.work.options.Work.Sequence) > 0 {
			ids = ids[:0] // The requests that follow are about this one.
		}
		u.created[op.creates] = append(ids, u.values[op.createdID].number)
	}
}

// inTurn returns a number for the n-th of this user's, such that all users together count without a gap.
func (u *user) inTurn(n int64) int64 { return n*int64(u.work.options.Users) + u.number }

// Check returns what is wrong with the reply to the last request, or with an item of it.
func (u *user) Check(r *Request, reply []byte) (err error) {
	op, value := u.current, any(nil)
	if text := op.contains.append(nil, u.values); !bytes.Contains(reply, text) {
		err = fmt.Errorf("the reply is %q, without %q", shorten(reply), shorten(text))
	}
	if len(op.expectations) > 0 && err == nil {
		if op.reply != nil {
			reply, err = describeReply(op.schema, op.reply, reply)
		}
		if err == nil {
			value, err = decodeJSON(reply)
		}
		if op.onlyData && op.reply != nil {
			value = pick(value, "data")
		}
	}
	for i := 0; err == nil && i < len(op.expectations); i++ {
		err = op.expectations[i].check(value, u.values)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Operation, err)
	}
	return nil
}

package request

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func compile(t testing.TB, application *Application, options Options) *Workload {
	t.Helper()
	options.IDBase = 10_000_000
	work, err := application.Compile(options)
	if err != nil {
		t.Fatal(err)
	}
	return work
}

func sequence(operations ...string) Work { return Work{Sequence: operations} }

// send returns "operation path" of a user's next requests; those whose places are in failed don't succeed.
func send(source Source, count int, failed ...int) []string {
	var sent []string
	var r Request
	for i := range count {
		source.Next(&r)
		sent = append(sent, fmt.Sprintf("%s %s", r.Operation, r.Path))
		source.Settle(!slices.Contains(failed, i))
	}
	return sent
}

func expectSent(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestADeleteThatFailedIsNotTriedAgain(t *testing.T) {
	mix := map[string]int{"users.create": 1, "users.delete": 1000}
	work := compile(t, builtin(t), Options{Transport: "rest", Work: Work{Mix: mix}})
	expectSent(t, send(work.NewSource(0), 3, 1), "users.create /api/users", "users.delete /api/users/10000000", "users.create /api/users")
}

func TestSequenceIsAboutTheRecordThatItCreated(t *testing.T) {
	work := compile(t, builtin(t), Options{
		Transport: "rest", Users: 3, Work: sequence("users.create", "users.update", "users.get", "users.delete"),
	})
	expectSent(t, send(work.NewSource(1), 5),
		"users.create /api/users",
		"users.update /api/users/10000001",
		"users.get /api/users/10000001",
		"users.delete /api/users/10000001",
		"users.create /api/users",
	)
	work = compile(t, builtin(t), Options{Transport: "rest", Work: sequence("users.create", "users.get", "users.get")})
	expectSent(t, send(work.NewSource(0), 6),
		"users.create /api/users", "users.get /api/users/10000000", "users.get /api/users/10000000",
		"users.create /api/users", "users.get /api/users/10000001", "users.get /api/users/10000001",
	)
}

func TestMixHasItsWeights(t *testing.T) {
	work := compile(t, builtin(t), Options{Transport: "rest", Work: Work{
		Mix: map[string]int{"users.get": 8, "echo.echo": 2},
	}})
	count := map[string]int{}
	for _, each := range send(work.NewSource(0), 10_000) {
		count[strings.Fields(each)[0]]++
	}
	if count["users.get"] < 7_800 || count["users.get"] > 8_200 || count["users.get"]+count["echo.echo"] != 10_000 {
		t.Errorf("got %v", count)
	}
}

// TestPhases has each user read what it created, in the order of its creation, and delete the newest first; no user
// is a phase ahead of another.
func TestPhases(t *testing.T) {
	const users, calls = 3, 8
	var group sync.WaitGroup
	var mutex sync.Mutex
	waited, arrived, release := 0, 0, make(chan struct{})
	waitForAll := func() {
		mutex.Lock()
		wait := release
		waited++
		if arrived++; arrived == users {
			arrived, release = 0, make(chan struct{})
			close(wait)
		}
		mutex.Unlock()
		<-wait
	}
	work := compile(t, builtin(t), Options{Transport: "rest", Users: users, Calls: calls, WarmupCalls: 2, Wait: waitForAll, Work: Work{
		Phases: []string{"users.create", "users.list", "users.get", "users.delete"},
	}})
	sent := make([][]string, users)
	for user := range users {
		group.Go(func() { sent[user] = send(work.NewSource(user), 2+calls) })
	}
	group.Wait()
	if waited != users*3 {
		t.Errorf("users waited %d times", waited)
	}
	for user, got := range sent {
		for _, place := range []int{1, 4, 5} {
			got[place] = strings.Split(got[place], "?")[0] // where a list starts is random
		}
		id := func(n int) string { return fmt.Sprintf("/api/users/%d", 10_000_000+n*users+user) }
		expectSent(t, got,
			"users.create /api/users", "users.list /api/users", // warm-up
			"users.create /api/users", "users.create /api/users",
			"users.list /api/users", "users.list /api/users",
			"users.get "+id(0), "users.get "+id(1),
			"users.delete "+id(2), "users.delete "+id(1),
		)
	}
}

func TestIDsAreUnique(t *testing.T) {
	const users, size = 4, 5
	work := compile(t, builtin(t), Options{Transport: "socket", Users: users, Payload: fmt.Sprint(size), Work: Work{
		Mix: map[string]int{"users.create_batch": 1, "users.create": 1},
	}})
	seen := map[string]bool{}
	for user := range users {
		source := work.NewSource(user)
		var r Request
		for range 50 {
			source.Next(&r)
			source.Settle(true)
			for _, each := range strings.Split(string(r.Body), `"id":`)[1:] {
				id := strings.Split(each, ",")[0]
				if seen[id] {
					t.Fatalf("id %s twice", id)
				}
				seen[id] = true
			}
		}
	}
	if len(seen) < users*50 {
		t.Errorf("only %d ids", len(seen))
	}
}

// TestSteadyStateAllocatesNothing has no exception but changed cases of random text, such as {noise|upper}.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	application, inputs := builtin(t), loadFile(t, "testdata/inputs.yaml")
	for _, wire := range [][2]string{{"rest", "json"}, {"rest", "protobuf"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"}} {
		mix := map[string]int{"users.create": 2, "users.delete": 1}
		for _, each := range application.operations() {
			if each.get(wire[0]).value != nil {
				mix[each.name] = max(1, mix[each.name])
			}
		}
		works := map[string]*Workload{
			"mix":   compile(t, application, Options{Transport: wire[0], Codec: wire[1], Work: Work{Mix: mix}, StreamItems: 5}),
			"batch": compile(t, inputs, Options{Transport: wire[0], Codec: wire[1], Work: sequence("books.create_batch")}),
		}
		for name, work := range works {
			source := work.NewSource(0)
			var r Request
			next := func() {
				source.Next(&r)
				source.Settle(true)
			}
			for range 1000 {
				next()
			}
			if allocations := testing.AllocsPerRun(1000, next); allocations != 0 {
				t.Errorf("%s over %s with %s: %v allocations per request", name, wire[0], wire[1], allocations)
			}
		}
	}
}

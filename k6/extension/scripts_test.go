package main

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func plain() *service { return &service{} }

func TestScriptsCountWhatTheServiceCounts(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, service *service, load k6Run) {
		got := load.run(t)
		if total := got.expectOnly(t, "ok"); total != service.requests.Load() {
			t.Errorf("k6 counts %d requests, the service %d", total, service.requests.Load())
		}
		service.expectConnections(t, 2)
		if got.Mismatches != 0 || got.BytesSent == 0 || got.BytesReceived == 0 || got.BytesRequests != got.RequestsTotal["ok"] {
			t.Errorf("unexpected %+v", got)
		}
		if length := time.Duration(got.Window.End - got.Window.Start); length != 800*time.Millisecond {
			t.Errorf("want the whole window, got %s", length)
		}
		if inWindow := got.clock(t, "ok", "service").TotalCount(); inWindow == 0 || inWindow >= got.RequestsTotal["ok"] {
			t.Errorf("want a part of the requests in the window, got %d of %d", inWindow, got.RequestsTotal["ok"])
		}
	})
}

func TestUsersTakeSeveralAddressesInTurn(t *testing.T) {
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			first, second := plain(), plain()
			transport.start(t, first)
			transport.start(t, second)
			got := k6Run{
				script: transport.script, warmup: "0.2", window: "0.8",
				variables: map[string]string{"ADDRESS": first.address + "," + second.address, "CONCURRENCY": "5"},
			}.run(t)
			got.expectOnly(t, "ok")
			first.expectConnections(t, 3)
			second.expectConnections(t, 2)
		})
	}
}

func TestKindsOfClientsShareTheUsersAndAreCountedByName(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, service *service, load k6Run) {
		load.variables["CONCURRENCY"] = "4"
		load.variables["CHECK_EVERY"] = "0"
		load.variables["CLIENTS"] = `[{"name":"many","users":3,"mix":{"users.get":1}},
			{"name":"one","users":1,"sequence":["users.get"]}]`
		got := load.run(t)
		if total := got.expectOnly(t, "ok"); total != service.requests.Load() {
			t.Errorf("k6 counts %d requests, the service %d", total, service.requests.Load())
		}
		counts := map[string]int64{}
		for _, each := range got.Series {
			counts[each.Operation] += each.Count
		}
		if len(counts) != 2 || counts["many/users.get"] <= counts["one/users.get"] || counts["one/users.get"] == 0 {
			t.Errorf("want three users of one kind and one of the other, got %v", counts)
		}
	})
}

func TestWrongRepliesAreMismatches(t *testing.T) {
	wrong := func() *service { return &service{wrong: true} }
	onAllTransports(t, wrong, func(t *testing.T, _ *service, load k6Run) {
		got := load.run(t)
		total := got.expectOnly(t, "ok")
		// Each of the two users checks its first request and every tenth after it.
		if checked := total / 10; got.Mismatches < checked || got.Mismatches > checked+2 {
			t.Errorf("want every tenth of %d replies found wrong, got %d", total, got.Mismatches)
		}
	})
}

func TestReopeningMakesAConnectionForEveryRequestAndTakesItsTime(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, service *service, load k6Run) {
		// The shortest: medians of two runs also measure how busy the machine was in each.
		kept := load.run(t).clock(t, "ok", "service").Min()
		service.requests.Store(0)
		service.connections.Store(0)
		load.variables["CONNECTION"] = "reopen"
		got := load.run(t)
		if total := got.expectOnly(t, "ok"); service.connections.Load() != total || service.requests.Load() != total {
			t.Errorf("want %d connections, got %d and %d requests", total, service.connections.Load(), service.requests.Load())
		}
		if reopened := got.clock(t, "ok", "service").Min(); reopened <= kept {
			t.Errorf("reopening takes %d ns, keeping %d: connecting is left out", reopened, kept)
		}
	})
}

func TestTimeOutsAreCountedOnce(t *testing.T) {
	slow := func() *service { return &service{delay: time.Second} }
	onAllTransports(t, slow, func(t *testing.T, service *service, load k6Run) {
		load.variables["TIMEOUT_S"] = "0.15"
		got := load.run(t)
		total := got.expectOnly(t, "deadline_exceeded")
		// On a busy machine a request may time out before the service has it; counted twice, all of them would be.
		if seen := service.requests.Load(); total < seen || total >= 2*seen {
			t.Errorf("k6 counts %d requests, the service %d", total, seen)
		}
		if fastest := got.clock(t, "deadline_exceeded", "service").Min(); fastest < int64(100*time.Millisecond) {
			t.Errorf("want the time until the time-out, got %s", time.Duration(fastest))
		}
		if got.errorText() == "" {
			t.Error("want words for it")
		}
	})
}

func TestADeadServiceIsUnavailableAndLeavesTheTerminalAlone(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, _ *service, load k6Run) {
		load.variables["ADDRESS"] = "127.0.0.1:1"
		got := load.run(t) // Fails if k6 prints anything.
		got.expectOnly(t, "unavailable")
		if !strings.Contains(got.errorText(), "connection refused") {
			t.Errorf("want the reason, got %q", got.errorText())
		}
	})
}

func TestAnOpenLoadKeepsItsRateAndIsPunctual(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, _ *service, load k6Run) {
		load.variables["RATE"] = "100"
		load.variables["CONCURRENCY"] = "20" // So that a machine that is busy for a moment drops nothing.
		got := load.run(t)
		if total := got.expectOnly(t, "ok") + got.Dropped; total < 100 || total > 125 {
			t.Errorf("want 100 a second for 1.1 s, got %d", total)
		}
		service, response := got.clock(t, "ok", "service"), got.clock(t, "ok", "response")
		late := response.ValueAtPercentile(50) - service.ValueAtPercentile(50)
		if late < 0 || late > int64(100*time.Millisecond) {
			t.Errorf("want requests sent when they are due, they were %s late", time.Duration(late))
		}
	})
}

func TestRequestsAreSentWhenAListSaysAndCountedByThat(t *testing.T) {
	service := plain()
	startREST(t, service)
	list := filepath.Join(t.TempDir(), "due.json")
	// Two before the window, ten in a burst and one at its end, one after it.
	burst := strings.Repeat("500000000,", 10)
	if err := os.WriteFile(list, []byte("[0, 100000000, "+burst+" 999999999, 1000000000]"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := k6Run{
		script: "../rest.js", warmup: "0.2", window: "0.8", by: "due",
		variables: map[string]string{"ADDRESS": service.address, "CONCURRENCY": "12", "ARRIVALS": list},
	}.run(t)
	if total := got.expectOnly(t, "ok"); total != 14 {
		t.Errorf("want all 14 requests, got %d", total)
	}
	if count := got.clock(t, "ok", "response").TotalCount(); count != 11 {
		t.Errorf("want the 11 that were due in the window, got %d", count)
	}
}

func TestAWarmUpByCallsEndsForAllUsersAtOnceAndDoesNotCount(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, service *service, load k6Run) {
		load.warmup, load.window, load.calls = "0", "30", "calls=40,warmup_calls=20"
		load.variables["CONCURRENCY"] = "4"
		load.variables["CALLS"] = "10"
		load.variables["WARMUP_CALLS"] = "5"
		got := load.run(t)
		if total := got.expectOnly(t, "ok"); total != 60 || service.requests.Load() != 60 {
			t.Errorf("want all 60 requests, got %d, and %d at the service", total, service.requests.Load())
		}
		if count := got.clock(t, "ok", "service").TotalCount(); count != 40 {
			t.Errorf("want the 40 after the warm-up, got %d", count)
		}
		if length := time.Duration(got.Window.End - got.Window.Start); length <= 0 || length > 20*time.Second {
			t.Errorf("want a window that ends with the last call, got %s", length)
		}
	})
}

func TestUsersStartOneAfterTheOther(t *testing.T) {
	const delay, apart, lasts = 10 * time.Millisecond, 100 * time.Millisecond, 1050 * time.Millisecond
	slow := func() *service { return &service{delay: delay} }
	onAllTransports(t, slow, func(t *testing.T, service *service, load k6Run) {
		load.warmup, load.window = "0.5", "0.5"
		load.variables["CONCURRENCY"] = "5"
		load.variables["SPAWN_RATE"] = "10"
		total, most := load.run(t).expectOnly(t, "ok"), int64(0)
		for user := range 5 {
			most += int64((lasts-time.Duration(user)*apart)/delay) + 1
		}
		if total > most {
			t.Errorf("want %d requests at most, got %d", most, total)
		}
		service.expectConnections(t, 5)
	})
}

func TestUsersGoThroughPhasesTogether(t *testing.T) {
	onAllTransports(t, plain, func(t *testing.T, _ *service, load k6Run) {
		load.warmup, load.window, load.calls = "0", "30", "calls=60,warmup_calls=9"
		load.variables["CONCURRENCY"] = "3"
		load.variables["CHECK_EVERY"] = "0"
		load.variables["CALLS"] = "20"
		load.variables["WARMUP_CALLS"] = "3"
		load.variables["CLIENTS"] = `[{"users":1,"phases":["users.get","users.update"]}]`
		got := load.run(t)
		if total := got.expectOnly(t, "ok"); total != 69 {
			t.Errorf("want all 69 requests, got %d", total)
		}
		counts := map[string]int64{}
		for _, each := range got.Series {
			counts[each.Operation] = each.Count
		}
		if counts["users.get"] != 30 || counts["users.update"] != 30 {
			t.Errorf("want half of the calls in each phase, got %v", counts)
		}
	})
}

func TestNoUserIsAPhaseAheadAndEachReadsAndDeletesWhatItHasCreated(t *testing.T) {
	var mutex sync.Mutex
	var order []string
	ids := map[string][]string{}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		id := strings.TrimPrefix(request.URL.Path, "/api/users/")
		operation := request.Method
		if request.Method == http.MethodPost {
			var user struct{ ID int }
			_ = json.NewDecoder(request.Body).Decode(&user)
			id = strconv.Itoa(user.ID)
		} else if id == "/api/users" {
			operation = "LIST"
		}
		mutex.Lock()
		order = append(order, operation)
		ids[operation] = append(ids[operation], id)
		mutex.Unlock()
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	}))
	defer server.Close()
	k6Run{script: "../rest.js", warmup: "0", window: "30", calls: "calls=48", variables: map[string]string{
		"ADDRESS": server.Listener.Addr().String(), "CONCURRENCY": "4", "CALLS": "12", "CHECK_EVERY": "0",
		"CLIENTS": `[{"users":1,"phases":["users.create","users.list","users.get","users.delete"]}]`,
	}}.run(t).expectOnly(t, "ok")
	want := []string{"POST", "LIST", "GET", "DELETE"}
	if got := slices.Compact(slices.Clone(order)); len(order) != 48 || !slices.Equal(want, got) {
		t.Errorf("want 12 of each of %v, got %v", want, order)
	}
	for _, each := range ids {
		slices.Sort(each)
	}
	if !slices.Equal(ids["POST"], ids["GET"]) || !slices.Equal(ids["POST"], ids["DELETE"]) {
		t.Errorf("want each user read and deleted once, got %v", ids)
	}
}

func TestWhatKeepsAUserFromSendingIsInTheResponseTime(t *testing.T) {
	service := plain()
	startREST(t, service)
	script := filepath.Join(t.TempDir(), "blocked.js")
	text := `import http from 'k6/http';
		import { sleep } from 'k6';
		import load from 'k6/x/wirebench/load';
		export const options = { scenarios: { load: {
			executor: 'wirebench-arrivals', rate: 20, duration: '1100ms', vus: 4 } } };
		export default function () {
			load.due();
			sleep(0.08);
			http.get('http://` + service.address + `/api/users/1', { tags: { name: 'users.get' } });
		}`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := k6Run{script: script, warmup: "0", window: "1"}.run(t)
	service50, response := got.clock(t, "ok", "service").ValueAtPercentile(50), got.clock(t, "ok", "response")
	if late := time.Duration(response.Min() - service50); late < 75*time.Millisecond || late > 300*time.Millisecond {
		t.Errorf("want the 80 ms before sending in the response time, got %s", late)
	}
}

func TestAnInterruptedRunStillHasItsFile(t *testing.T) {
	service := plain()
	startREST(t, service)
	load := k6Run{
		script: "../rest.js", warmup: "0.1", window: "60", variables: map[string]string{"ADDRESS": service.address},
	}
	command, path := load.command(t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); service.requests.Load() < 100 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // k6 has an exit code of its own for this.
	got := readCell(t, path)
	got.expectOnly(t, "ok")
	if length := time.Duration(got.Window.End - got.Window.Start); length <= 0 || length > 30*time.Second {
		t.Errorf("want the window cut off, got %s", length)
	}
}

func TestWrongSettingsAreOneClearLine(t *testing.T) {
	for variable, words := range map[string]string{
		"OPERATION=users.fly": "OPERATION must be one of users.get,",
		"CONNECTION=maybe":    "CONNECTION must be one of keep, reopen",
		"CODEC=xml":           "CODEC must be one of json, protobuf",
		"CONCURRENCY=0":       "CONCURRENCY must be a number from 1",
		"RATE=1.5":            "RATE must be a whole number",
		"SPAWN_RATE=-1":       "SPAWN_RATE must be a number from 0",
		"WARMUP_CALLS=5":      "WARMUP_CALLS needs CALLS",
		"ADDRESS=localhost":   "ADDRESS must be host:port",
		"ADDRESS=a:1,":        "ADDRESS must be host:port, not ''",
		"CLIENTS=[":           "CLIENTS must be JSON",
		"CLIENTS=[]":          "CLIENTS must be a list of kinds of clients",
		`CLIENTS=[{"users":1,"phases":["users.get"]}]`:      "phases are for all users, and need CALLS",
		`CLIENTS=[{"users":1,"sequence":["users.fly"]}]`:    "CLIENTS: each needs users, and a sequence, phases or mix of",
		`CLIENTS=[{"users":1,"sequence":["users.delete"]}]`: "users.delete needs users.create before it",
	} {
		name, value, _ := strings.Cut(variable, "=")
		load := k6Run{script: "../rest.js", warmup: "0", window: "1", variables: map[string]string{name: value}}
		if got := load.fails(t); !strings.Contains(got, words) {
			t.Errorf("%s: want %q in %q", variable, words, got)
		}
	}
}

func TestAFileThatCannotBeWrittenStopsTheRunAtItsStart(t *testing.T) {
	load := k6Run{script: "../rest.js", warmup: "0", window: "1"}
	command, path := load.command(t)
	for i, argument := range command.Args {
		command.Args[i] = strings.ReplaceAll(argument, path, "/nowhere/cell.json")
	}
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "can't write the histogram file: open /nowhere/cell.json.tmp") {
		t.Errorf("want a failure with the path, got %v\n%s", err, output)
	}
}

func TestALoadTellsHowItGoes(t *testing.T) {
	service := plain()
	startREST(t, service)
	load := k6Run{
		script: "../rest.js", warmup: "0.1", window: "1.1",
		variables: map[string]string{"ADDRESS": service.address, "CONCURRENCY": "2"},
	}
	command, path := load.command(t)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("k6: %v\n%s", err, output)
	}
	var told struct{ Seconds, Successful, Failed int64 }
	if text, err := os.ReadFile(snapshotOf(path)); err != nil || json.Unmarshal(text, &told) != nil {
		t.Fatalf("no snapshot: %v, %s", err, text)
	}
	if total := readCell(t, path).RequestsTotal["ok"]; told.Seconds != 1 || told.Successful == 0 || told.Successful > total || told.Failed != 0 {
		t.Errorf("want the first second's part of %d requests, got %+v", total, told)
	}
}

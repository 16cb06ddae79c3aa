package request

import "testing"

// FuzzLoad checks and loads any text, and makes a few requests of what can be loaded.
func FuzzLoad(f *testing.F) {
	descriptors := readFile(f, "../../proto/contract.binpb")
	defer func(before int) { sizesMax = before }(sizesMax)
	sizesMax = 1 << 16
	f.Add(readFile(f, "testdata/inputs.yaml"))
	f.Add(readFile(f, "../../applications/users.yaml"))
	f.Add([]byte(shopFile))
	f.Add([]byte("a: &a {b: 0x1F, c: [*a, 1:30, 010, .5, -1_000.0]}\noperations: {x: {<<: [*a], rest: !!map {request: GET /}}}\n"))
	f.Add([]byte(`{"operations": {"a": {"inputs": {"x": {"repeat": 2, "of": {"random_text": 3}}, "y": {"value": "{x|length}"}},
		"rest": {"request": "PUT /a/{y}?b={y}", "body": ["{x}"], "expect": {"json": {"*.a": {"above": "{y}"}}}}, "socket": {"method": "a"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		parseApplication("a.yaml", text).checkAll(map[string][]byte{"": descriptors})
		application, err := parse(string(text), descriptors)
		if err != nil {
			return
		}
		for _, operation := range application.operations() {
			for _, wire := range [][2]string{{"rest", "json"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"}} {
				work, err := application.Compile(Options{
					Transport: wire[0], Codec: wire[1], Users: 2, StreamItems: 2, Payload: "3", Work: sequence(operation.name),
				})
				if err != nil {
					continue
				}
				source := work.NewSource(1)
				var r Request
				for _, ok := range []bool{true, false, true} {
					source.Next(&r)
					_ = source.Check(&r, r.Body)
					source.Settle(ok)
				}
			}
		}
	})
}

// FuzzCheck checks any reply.
func FuzzCheck(f *testing.F) {
	application := builtin(f)
	var sources []Source
	var requests []Request
	for _, operation := range application.operations() {
		for _, wire := range [][2]string{{"rest", "json"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"}} {
			if operation.get(wire[0]).value == nil {
				continue
			}
			operations := []string{operation.name}
			if operation.name == "users.delete" {
				operations = []string{"users.create", operation.name}
			}
			options := Options{Transport: wire[0], Codec: wire[1], StreamItems: 2, Work: sequence(operations...)}
			if operation.name == "users.create_batch" {
				options.Payload = "2"
			}
			source := compile(f, application, options).NewSource(0)
			var r Request
			for range operations {
				source.Next(&r)
				source.Settle(true)
			}
			f.Add(len(sources), r.Body)
			sources, requests = append(sources, source), append(requests, r)
		}
	}
	f.Add(0, []byte(`{"data": {"id": 1e999999999, "name": [[{}]]}}`))
	f.Add(1, []byte(`{"id": 1, "time": 2, "reference": "x"}`))
	f.Fuzz(func(_ *testing.T, place int, reply []byte) {
		place = int(uint(place) % uint(len(sources)))
		_ = sources[place].Check(&requests[place], reply)
	})
}

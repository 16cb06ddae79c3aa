// Package request makes the requests of a load and checks their replies, as an application file describes them
// (docs/applications.md).
//
// Load reads the file in its JSON form. Compile turns what the users of a load do into programs that append bytes.
// Each connection has a Source, which runs them: it allocates nothing per request once its buffers have grown.
package request

// Request is what one call sends. Its slices belong to the Source and are valid until the next call of Next.
type Request struct {
	// Operation is the name under which it is counted: "users.get".
	Operation string
	// Method is the HTTP method; empty on other transports.
	Method string
	// Path is the path and query on REST, "/package.Service/Method" on gRPC, and the method on the socket; empty for a line.
	Path []byte
	// Headers are the same for all requests of an operation, which share the slice; those in Varying are not. They are
	// metadata on gRPC, and take the place of what a client would send by itself.
	Headers []Header
	Varying []Header
	// Body is JSON, a text or a protobuf message, on gRPC without its five-byte prefix; on the socket maybe a line.
	Body []byte
	// Status is the HTTP status of a correct reply; 0 on other transports.
	Status int
	// Stream says that the reply has many items. Items is how many; 0 where the service decides.
	Stream bool
	Items  int
	// End names the event that ends a stream on REST; where it is empty, the end of the body does.
	End string
}

// Source makes the requests of one user, who has one connection and at most one request in flight.
type Source interface {
	// Next fills the next request.
	Next(r *Request)
	// Settle records whether that request succeeded: only what was created can be read and deleted, and a sequence
	// starts again after a failure. Call it once before the next Next.
	Settle(ok bool)
	// Check returns what is wrong with the body of the reply to that request, or with an item of a stream.
	Check(r *Request, reply []byte) error
}

// Constant is a Source of one request over and over, which accepts every reply; all users may share it.
type Constant struct{ Request Request }

func (c *Constant) Next(r *Request)              { *r = c.Request }
func (c *Constant) Settle(bool)                  {}
func (c *Constant) Check(*Request, []byte) error { return nil }

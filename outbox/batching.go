package outbox

// Batching is what a [BatchSender] says of the batches that it takes.
type Batching struct {
	// MaxEvents is how many events a call may have. Zero is one; more than
	// 65,536 mean that.
	MaxEvents int
	// MaxBytes bounds the data of all events of a call together; an event that
	// is larger by itself goes alone. Zero is no bound.
	MaxBytes int
	// InOrder declares that once an event of a call was not delivered, refused
	// ones included, neither is any that follows it in the call and has its
	// ordering key. Without that, a call never has two events of one ordering
	// key: one that failed would be delivered after its successor (I8). A
	// relay does not believe a sender that breaks the declaration: what it
	// should not have delivered is delivered again.
	InOrder bool
}

// BatchSender is a [Sender] that takes more than one event a call.
type BatchSender interface {
	Sender

	// Batching returns the same at each call.
	Batching() Batching
}

package pgfault

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The types of messages that the proxy tells apart. A letter means one thing
// from the client and another from the server.
const (
	bindMessage     = 'B' // client
	closeMessage    = 'C' // client
	describeMessage = 'D' // client
	executeMessage  = 'E' // client
	parseMessage    = 'P' // client
	queryMessage    = 'Q' // client
	callMessage     = 'F' // client
	syncMessage     = 'S' // client

	commandCompleteMessage = 'C' // server
	errorMessage           = 'E' // server
	backendKeyMessage      = 'K' // server
	readyMessage           = 'Z' // server
)

const (
	headerLength = 5 // the type and the length, which counts itself but not the type
	longest      = 1 << 30
)

// message is one message as it came, header included, so that forwarding it
// changes nothing.
type message struct{ raw []byte }

func (m message) kind() byte { return m.raw[0] }

func (m message) body() []byte { return m.raw[headerLength:] }

func readMessage(r io.Reader) (message, error) {
	var header [headerLength]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return message{}, err
	}
	raw, err := readRest(r, header[:], 1)
	return message{raw}, err
}

// readStartup reads what a connection begins with: a message without a type.
func readStartup(r io.Reader) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	raw, err := readRest(r, header[:], 0)
	if err == nil && len(raw) < startupCodeEnd {
		return nil, fmt.Errorf("pgfault: startup message of %d bytes", len(raw))
	}
	return raw, err
}

// readRest reads what the length at offset of the header promises.
func readRest(r io.Reader, header []byte, offset int) ([]byte, error) {
	length := binary.BigEndian.Uint32(header[offset:])
	if length < 4 || length > longest {
		return nil, fmt.Errorf("pgfault: message of %d bytes", length)
	}
	// Grows with what arrives: a false length must not allocate a gigabyte.
	raw := append([]byte(nil), header...)
	missing := int64(length) - 4
	body, err := io.ReadAll(io.LimitReader(r, missing))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) < missing {
		return nil, io.ErrUnexpectedEOF
	}
	return append(raw, body...), nil
}

// readPipeline reads messages up to one after which the client may expect an
// answer. The server holds back the answers to those before it.
func readPipeline(r *bufio.Reader) ([]message, error) {
	var pipeline []message
	for {
		next, err := readMessage(r)
		if err != nil {
			return nil, err
		}
		pipeline = append(pipeline, next)
		switch next.kind() {
		case parseMessage, bindMessage, describeMessage, executeMessage, closeMessage:
		default:
			return pipeline, nil
		}
	}
}

func writeMessages(w io.Writer, messages []message) error {
	var together []byte
	for _, m := range messages {
		together = append(together, m.raw...)
	}
	_, err := w.Write(together)
	return err
}

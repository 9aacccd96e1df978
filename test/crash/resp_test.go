//go:build crash

package crash

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// value is one value of Redis's protocol, as a request or a reply.
type value struct {
	// kind is the byte it begins with.
	kind  byte
	text  string
	items []value
}

// readValue reads one whole value and appends its bytes to raw, so that it can be handed on unchanged.
func readValue(r *bufio.Reader, raw *bytes.Buffer) (value, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return value{}, err
	}
	raw.WriteString(line)
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return value{}, fmt.Errorf("an empty line is no value of Redis's protocol")
	}
	v := value{kind: line[0], text: line[1:]}
	switch v.kind {
	case '$', '=', '!':
		v.text, err = readBulk(r, raw, v.text)
	case '*', '~', '>':
		v.items, err = readItems(r, raw, v.text, 1)
	case '%', '|':
		v.items, err = readItems(r, raw, v.text, 2)
	}
	return v, err
}

func readBulk(r *bufio.Reader, raw *bytes.Buffer, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return "", err
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	raw.Write(text)
	return string(text[:n]), nil
}

// readItems reads the elements of an aggregate of so many times each elements.
func readItems(r *bufio.Reader, raw *bytes.Buffer, length string, each int) ([]value, error) {
	n, err := strconv.Atoi(length)
	if err != nil {
		return nil, err
	}
	var items []value
	for range n * each {
		item, err := readValue(r, raw)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// request renders a command as a client sends it.
func request(args ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.Bytes()
}

package wire

// Code names why a request could not be carried out. It stands in the body of an error reply; [Code.Status] stands in its header.
type Code string

// The codes of the protocol.
const (
	// CodeInvalidArgument: the request is malformed or a value is out of range. Nothing was read or written.
	CodeInvalidArgument Code = "invalidArgument"
	// CodeForbidden: the caller may not act for this owner. Nothing was written.
	CodeForbidden Code = "forbidden"
	// CodeDeadlineExceeded: the deadline passed before the operation took effect. Nothing was written.
	CodeDeadlineExceeded Code = "deadlineExceeded"
	// CodeScanExpired: the continuation token's snapshot is gone, or the token belongs to another list.
	CodeScanExpired Code = "scanExpired"
	// CodeTooLarge: a size limit of the protocol or of the server is exceeded. Nothing was written.
	CodeTooLarge Code = "tooLarge"
	// CodeOverloaded: the instance's queue is full. Nothing was written; retry with back-off.
	CodeOverloaded Code = "overloaded"
	// CodeInternal: the service has a bug.
	CodeInternal Code = "internal"
	// CodeDataLost: stored data is damaged. Nothing was written.
	CodeDataLost Code = "dataLost"
	// CodeUnavailable: the store cannot be reached. Nothing was written.
	CodeUnavailable Code = "unavailable"
	// CodeOutcomeUnknown: a commit was sent and may or may not have taken effect. Read before retrying.
	CodeOutcomeUnknown Code = "outcomeUnknown"
)

var statuses = map[Code]int{
	CodeInvalidArgument:  400,
	CodeForbidden:        403,
	CodeDeadlineExceeded: 408,
	CodeScanExpired:      410,
	CodeTooLarge:         413,
	CodeOverloaded:       429,
	CodeInternal:         500,
	CodeDataLost:         500,
	CodeUnavailable:      503,
	CodeOutcomeUnknown:   503,
}

// Status returns the number for the header Nats-Service-Error-Code. It is 500 for a code that the protocol does not have.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return statuses[CodeInternal]
}

// ErrorBody is the body of an error reply. Written by the service.
type ErrorBody struct {
	Error ErrorDetail `json:"error"` // why the request could not be carried out
}

// ErrorDetail is the content of an [ErrorBody].
type ErrorDetail struct {
	Code    Code   `json:"code"`           // the code, for programs
	Message string `json:"message"`        // one line, for people
	Field   string `json:"field,omitzero"` // path of the refused field; absent when no one field is to blame
}

package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
	//go:embed refresh.js
	scriptText string

	page = template.Must(template.New("page").Parse(pageText))

	// policy lets the page run its own script and style and ask its own server, nothing else.
	policy = "default-src 'none'; script-src " + digest(scriptText) + "; style-src " + digest(styleText) +
		"; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// digest names an inline script or style in a policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// reply is the answer in JSON.
type reply struct {
	Overview *Overview `json:"overview"`
	HTML     string    `json:"html"` // the inner part of the page
}

// Source makes an overview.
type Source func(context.Context) *Overview

// Page answers with the page. The status is 503 while the instance takes no requests.
func (s Source) Page(w http.ResponseWriter, r *http.Request) {
	o := s(r.Context())
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Overview": o, "Style": template.CSS(styleText), "Script": template.JS(scriptText), //nolint:gosec // our own
	})
	answer(w, o, "text/html; charset=utf-8", b.Bytes(), err)
}

// JSON answers with the overview and the page's inner part, with the same status as Page.
func (s Source) JSON(w http.ResponseWriter, r *http.Request) {
	o := s(r.Context())
	var b bytes.Buffer
	err := page.ExecuteTemplate(&b, "inner", o)
	var text []byte
	if err == nil {
		text, err = json.Marshal(reply{o, b.String()})
	}
	answer(w, o, "application/json", text, err)
}

func answer(w http.ResponseWriter, o *Overview, contentType string, body []byte, err error) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", contentType)
	if o.Directory == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(body) // a client that has gone does not get it; nobody minds
}

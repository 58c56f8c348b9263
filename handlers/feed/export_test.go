package feed

import "context"

// Trim removes old events now instead of once a minute.
func (f *Feed) Trim(ctx context.Context) error { return f.stream.trim(ctx) }

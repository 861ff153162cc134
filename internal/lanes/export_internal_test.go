package lanes

// SetNarrow sets how wide a span is swept before anything is handed out.
func (s *Source) SetNarrow(positions int64) { s.narrow = positions }

// Narrow returns what SetNarrow set.
func (s *Source) Narrow() int64 { return s.narrow }

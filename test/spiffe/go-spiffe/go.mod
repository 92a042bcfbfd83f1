module gate/go-spiffe

go 1.23.0

require github.com/spiffe/go-spiffe/v2 v2.5.0

require (
	github.com/go-jose/go-jose/v4 v4.0.4 // indirect
	github.com/zeebo/errs v1.4.0 // indirect
	golang.org/x/crypto v0.31.0 // indirect
)

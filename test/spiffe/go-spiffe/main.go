// Reads the trust bundle of a running Gate as any SPIFFE workload does, with go-spiffe and nothing of Gate's, and verifies a certificate that
// Gate issued. On standard input: JSON with `url`, `trust_domain`, `endpoint_id`, `ca_pem` and `svid_pem`. On standard output: what was found.
package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/federation"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

type question struct {
	URL         string `json:"url"`
	TrustDomain string `json:"trust_domain"`
	EndpointID  string `json:"endpoint_id"`
	CAPEM       string `json:"ca_pem"`
	SVIDPEM     string `json:"svid_pem"`
}

type answer struct {
	Sequence    uint64   `json:"sequence"`
	RefreshHint float64  `json:"refresh_hint"`
	Authorities int      `json:"x509_authorities"`
	TokenKeys   []string `json:"jwt_authorities"`
	Verified    string   `json:"verified"`
}

func certificates(text string) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return found, nil
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, certificate)
	}
}

func ask(input question) (*answer, error) {
	trustDomain, err := spiffeid.TrustDomainFromString(input.TrustDomain)
	if err != nil {
		return nil, err
	}
	endpoint, err := spiffeid.FromString(input.EndpointID)
	if err != nil {
		return nil, err
	}
	trusted, err := certificates(input.CAPEM)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	known := x509bundle.FromX509Authorities(trustDomain, trusted)
	bundle, err := federation.FetchBundle(ctx, trustDomain, input.URL, federation.WithSPIFFEAuth(known, endpoint))
	if err != nil {
		return nil, err
	}
	svid, err := certificates(input.SVIDPEM)
	if err != nil {
		return nil, err
	}
	id, _, err := x509svid.Verify(svid, bundle)
	if err != nil {
		return nil, err
	}
	sequence, hasSequence := bundle.SequenceNumber()
	hint, hasHint := bundle.RefreshHint()
	if !hasSequence || !hasHint {
		return nil, errors.New("the bundle has no sequence or no refresh hint")
	}
	keys := []string{}
	for kid := range bundle.JWTAuthorities() {
		keys = append(keys, kid)
	}
	sort.Strings(keys)
	return &answer{sequence, hint.Seconds(), len(bundle.X509Authorities()), keys, id.String()}, nil
}

func main() {
	var input question
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	found, err := ask(input)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}

// A workload of the SPIFFE Workload API, by go-spiffe and nothing of Gate's. SPIFFE_ENDPOINT_SOCKET says where. Each line of standard output is JSON: what
// the Workload API gave, each time that it gives another, and the answer to each line of standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/spiffetls/tlsconfig"
	"github.com/spiffe/go-spiffe/v2/svid/jwtsvid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc/status"
)

// What is asked on standard input: `get` over mTLS of `url`, whose server is `server_id`; `jwt` for what there is of tokens.
type question struct {
	Ask      string `json:"ask"`
	URL      string `json:"url"`
	ServerID string `json:"server_id"`
}

var lines sync.Mutex

func say(what any) {
	lines.Lock()
	defer lines.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(what)
}

type watcher struct{}

func (watcher) OnX509ContextUpdate(found *workloadapi.X509Context) {
	svid := found.DefaultSVID()
	bundle, err := found.Bundles.GetX509BundleForTrustDomain(svid.ID.TrustDomain())
	if err != nil {
		say(map[string]any{"event": "failed", "error": err.Error()})
		return
	}
	say(map[string]any{
		"event":       "svid",
		"id":          svid.ID.String(),
		"serial":      fmt.Sprintf("%x", svid.Certificates[0].SerialNumber),
		"authorities": len(bundle.X509Authorities()),
	})
}

func (watcher) OnX509ContextWatchError(err error) {
	say(map[string]any{"event": "failed", "code": status.Code(err).String(), "error": err.Error()})
}

func get(ctx context.Context, source *workloadapi.X509Source, asked question) map[string]any {
	server, err := spiffeid.FromString(asked.ServerID)
	if err != nil {
		return map[string]any{"event": "got", "error": err.Error()}
	}
	// A connection of its own, with what the source has now.
	transport := &http.Transport{TLSClientConfig: tlsconfig.MTLSClientConfig(source, source, tlsconfig.AuthorizeID(server))}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	reply, err := client.Post(asked.URL, "application/json", http.NoBody)
	if err != nil {
		return map[string]any{"event": "got", "error": err.Error()}
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	return map[string]any{"event": "got", "status": reply.StatusCode, "body": string(text)}
}

func tokens(ctx context.Context, client *workloadapi.Client) map[string]any {
	bundles, err := client.FetchJWTBundles(ctx)
	if err != nil {
		return map[string]any{"event": "jwt", "error": err.Error()}
	}
	keys := 0
	for _, bundle := range bundles.Bundles() {
		keys += len(bundle.JWTAuthorities())
	}
	_, fetched := client.FetchJWTSVID(ctx, jwtsvid.Params{Audience: "somebody"})
	_, validated := client.ValidateJWTSVID(ctx, "a.b.c", "somebody")
	return map[string]any{
		"event":     "jwt",
		"keys":      keys,
		"fetched":   status.Code(fetched).String(),
		"validated": status.Code(validated).String(),
	}
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, err := workloadapi.New(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	go func() { _ = client.WatchX509Context(ctx, watcher{}) }()
	source, err := workloadapi.NewX509Source(ctx, workloadapi.WithClient(client))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer source.Close()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var asked question
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		switch asked.Ask {
		case "get":
			say(get(ctx, source, asked))
		case "jwt":
			say(tokens(ctx, client))
		}
	}
}

// The workflow engine of docker-compose.yml: Temporal's server as its makers publish it, with claims by certificate (claims.go). The configuration
// is that of the published server: TEMPORAL_SERVER_CONFIG_FILE_PATH.
package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	_ "time/tzdata"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/temporal"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "gate-engine:", err)
		os.Exit(1)
	}
}

func serve() error {
	file := os.Getenv(config.EnvKeyConfigFile)
	if file == "" {
		return fmt.Errorf("%s names no file", config.EnvKeyConfigFile)
	}
	settings, err := config.Load(config.WithConfigFile(file))
	if err != nil {
		return err
	}
	mapper, err := mapperFor(settings)
	if err != nil {
		return err
	}
	server, err := temporal.NewServer(
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithConfig(settings),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(settings.Log))),
		temporal.InterruptOn(temporal.InterruptCh()),
		temporal.WithAuthorizer(authorizer{authorization.NewDefaultAuthorizer()}),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return mapper }),
	)
	if err != nil {
		return err
	}
	return server.Start()
}

// mapperFor refuses to serve where claims could be anybody's: without client certificates nobody is anybody.
func mapperFor(settings *config.Config) (authorization.ClaimMapper, error) {
	frontend := settings.Global.TLS.Frontend.Server
	if !frontend.RequireClientAuth || len(frontend.ClientCAFiles) == 0 {
		return nil, errors.New("global.tls.frontend.server asks for no client certificate: set requireClientAuth and clientCaFiles")
	}
	text, err := os.ReadFile(frontend.CertFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no certificate", frontend.CertFile)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	trustDomain, err := trustDomainOf(certificate)
	if err != nil {
		return nil, err
	}
	namespace := os.Getenv("GATE_TEMPORAL_NAMESPACE")
	if namespace == "" {
		namespace = "gate"
	}
	return claimMapper{trustDomain: trustDomain, namespace: namespace}, nil
}

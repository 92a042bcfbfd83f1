package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"

	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
)

// roles says what each holder of a certificate of the engine's CA may do in Gate's namespace, and in no other
// (docs/decisions/claims-at-the-engine.md). Whoever is not named here may do nothing.
var roles = map[string]authorization.Role{
	// Makes the namespace, its retention and its search attributes.
	"prepare": authorization.RoleAdmin,
	"proxy":   authorization.RoleWriter,
	"hil":     authorization.RoleWriter,
	"worker":  authorization.RoleWriter,
	// The pages look, and change nothing.
	"temporal-ui": authorization.RoleReader,
}

// engine is the server itself: its own worker asks its own frontend.
const engine = "temporal"

// claimMapper reads claims from the certificate with which somebody connects, and from nothing else: a token in a header says nothing here.
type claimMapper struct {
	trustDomain string
	namespace   string
}

// AuthInfoRequired is false, so that who connects without a certificate is asked for claims too, and has none.
func (claimMapper) AuthInfoRequired() bool { return false }

func (m claimMapper) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	certificate := authorization.PeerCert(info.TLSConnection)
	if certificate == nil {
		return &authorization.Claims{}, nil
	}
	name, err := serviceOf(certificate, m.trustDomain)
	if err != nil {
		return nil, err
	}
	claims := &authorization.Claims{Subject: name}
	if name == engine {
		claims.System = authorization.RoleAdmin
	} else if role, known := roles[name]; known {
		claims.Namespaces = map[string]authorization.Role{m.namespace: role}
	}
	return claims, nil
}

// serviceOf is the name in the one SPIFFE id of a certificate, spiffe://<trust domain>/service/<name>.
func serviceOf(certificate *x509.Certificate, trustDomain string) (string, error) {
	if len(certificate.URIs) != 1 {
		return "", fmt.Errorf("a certificate with %d URIs names nobody", len(certificate.URIs))
	}
	name, found := strings.CutPrefix(certificate.URIs[0].String(), "spiffe://"+trustDomain+"/service/")
	if !found || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%s is no service of %s", certificate.URIs[0], trustDomain)
	}
	return name, nil
}

// trustDomainOf is that of the server's own certificate, which the same CA signed.
func trustDomainOf(certificate *x509.Certificate) (string, error) {
	if len(certificate.URIs) != 1 || certificate.URIs[0].Scheme != "spiffe" {
		return "", fmt.Errorf("the certificate of the frontend has no SPIFFE id")
	}
	return certificate.URIs[0].Host, nil
}

// authorizer is the server's own, with one thing more: whoever may look into Gate's namespace may ask what the cluster is and which namespaces it has,
// as the engine's pages do. That is read only, and says nothing of what is in another namespace.
type authorizer struct{ authorization.Authorizer }

func (a authorizer) Authorize(ctx context.Context, claims *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	metadata := api.GetMethodMetadata(target.APIName)
	if claims != nil && len(claims.Namespaces) > 0 && metadata.Scope == api.ScopeCluster && metadata.Access == api.AccessReadOnly {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	return a.Authorizer.Authorize(ctx, claims, target)
}

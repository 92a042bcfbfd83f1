// Made from docs/openapi/identity.json by `npm run types`.
export interface paths {
    "/enrollments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_name: string;
                        /** @default 3600 */
                        ttl_seconds?: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            agent_id: string;
                            token: string;
                            /** Format: date-time */
                            expires_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/enrollments/svid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.agent.issue`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        csr_pem: string;
                        /** @default 3600 */
                        ttl_seconds?: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            spiffe_id: string;
                            cert_pem: string;
                            ca_cert_pem: string;
                            /** Format: date-time */
                            not_before: string;
                            /** Format: date-time */
                            not_after: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/svid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.agent.issue`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_name: string;
                        csr_pem: string;
                        /** @default 3600 */
                        ttl_seconds?: number;
                        attestation?: {
                            contractVersion: string;
                            /** Format: uuid */
                            requestId: string;
                            evidenceKind: string;
                            evidence: string;
                            evidenceSha256: string;
                            challenge: {
                                nonce: string;
                                /** Format: date-time */
                                issuedAt: string;
                                /** Format: date-time */
                                expiresAt: string;
                            };
                            expected: {
                                publicKeySha256: string;
                                svidSha256: string;
                                spiffeId: string;
                                tenant: string;
                                workload: string;
                                instance: string;
                                platformIssuer: string;
                                trustAnchorId: string;
                                measurementPolicyVersion: string;
                                verifierPolicyVersion: string;
                            };
                            /** Format: date-time */
                            requestedAt: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            spiffe_id: string;
                            cert_pem: string;
                            ca_cert_pem: string;
                            /** Format: date-time */
                            not_before: string;
                            /** Format: date-time */
                            not_after: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/svid/renew": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.agent.renew`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        csr_pem: string;
                        /** @default 3600 */
                        ttl_seconds?: number;
                        attestation?: {
                            contractVersion: string;
                            /** Format: uuid */
                            requestId: string;
                            evidenceKind: string;
                            evidence: string;
                            evidenceSha256: string;
                            challenge: {
                                nonce: string;
                                /** Format: date-time */
                                issuedAt: string;
                                /** Format: date-time */
                                expiresAt: string;
                            };
                            expected: {
                                publicKeySha256: string;
                                svidSha256: string;
                                spiffeId: string;
                                tenant: string;
                                workload: string;
                                instance: string;
                                platformIssuer: string;
                                trustAnchorId: string;
                                measurementPolicyVersion: string;
                                verifierPolicyVersion: string;
                            };
                            /** Format: date-time */
                            requestedAt: string;
                        };
                        agent_spiffe: string;
                        credential_fingerprint: string;
                        public_key_sha256: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            spiffe_id: string;
                            cert_pem: string;
                            ca_cert_pem: string;
                            /** Format: date-time */
                            not_before: string;
                            /** Format: date-time */
                            not_after: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workload-svid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.workload.issue`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: uuid */
                        request_id: string;
                        csr_pem: string;
                        /** @default 1800 */
                        ttl_seconds?: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            spiffe_id: string;
                            cert_pem: string;
                            ca_cert_pem: string;
                            /** Format: date-time */
                            not_before: string;
                            /** Format: date-time */
                            not_after: string;
                            /** Format: uuid */
                            request_id: string;
                            generation: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workloads/{service}/svid-recovery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.workload.recover`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    service: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            service: string;
                            recovery_generation: number;
                            revoked_svid_id: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.revocation.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "svid";
                        svid_id: string;
                        reason?: string;
                    } | {
                        /** @enum {string} */
                        kind: "agent";
                        /** Format: uuid */
                        agent_id: string;
                        reason?: string;
                    } | {
                        /** @enum {string} */
                        kind: "grant";
                        jti: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            kind: "svid" | "agent" | "grant";
                            id: string;
                            revoked_at: string | null;
                            revoked_svids?: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/svid-recovery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            agent_id: string;
                            recovery_generation: number;
                            revoked_svids: number;
                            /** @enum {string} */
                            svid_bootstrap_state: "recovery";
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/revocation/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.revocation.read`. */
        get: {
            parameters: {
                query?: {
                    after?: number;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            trust_domain: string;
                            after: number;
                            after_history: string | null;
                            generation: number;
                            history: string;
                            latest: number;
                            /** Format: date-time */
                            generated_at: string;
                            /** Format: date-time */
                            expires_at: string;
                            agents: {
                                tenant: string;
                                agent_name: string;
                                /** Format: date-time */
                                revoked_at: string;
                            }[];
                            standings: {
                                tenant: string;
                                agent_name: string;
                                /** @enum {string} */
                                state: "active" | "suspended" | "decommissioned";
                                force_hil_until: string | null;
                                /** Format: date-time */
                                changed_at: string;
                            }[];
                            stops?: {
                                tenant: string;
                                tool: string | null;
                                /** @enum {string} */
                                state: "suspended" | "active";
                                /** @enum {boolean} */
                                offboarded?: true;
                                /** Format: date-time */
                                changed_at: string;
                            }[];
                            budgets?: {
                                tenant: string;
                                agent_name: string | null;
                                budget_micros: number | null;
                                /** Format: date-time */
                                changed_at: string;
                            }[];
                            decoys?: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                name: string;
                                /** @enum {string} */
                                kind: "tool" | "value";
                                value: string | null;
                                advertised: boolean;
                                /** @enum {string} */
                                action: "suspend" | "force_hil" | "none";
                                schema_json: string | null;
                                description: string | null;
                                /** @enum {boolean} */
                                retired?: true;
                                /** Format: date-time */
                                changed_at: string;
                            }[];
                            upstreams?: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                name: string;
                                url: string;
                                tls_pin: string | null;
                                spiffe_id: string | null;
                                /** @enum {boolean} */
                                retired?: true;
                                /** Format: date-time */
                                changed_at: string;
                            }[];
                            grants?: {
                                /** Format: uuid */
                                jti: string;
                                /** Format: date-time */
                                exp: string;
                            }[];
                            svids: {
                                /** Format: uuid */
                                svid_id: string;
                                serial: string;
                                spiffe_id: string;
                                credential_fingerprint: string;
                                /** Format: date-time */
                                not_after: string;
                                /** @enum {string} */
                                why: "revoked" | "superseded";
                                /** Format: date-time */
                                refused_from: string;
                            }[];
                            signature: {
                                /** @enum {string} */
                                algorithm: "ES256";
                                key_id: string;
                                value: string;
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    state?: "active" | "suspended" | "decommissioned";
                    agent_name?: string;
                    owner_team?: string;
                    after?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.agent.register`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_name: string;
                        owner_team?: string;
                        description?: string;
                        /** @default [] */
                        scope_envelope?: string[];
                        /** @default [] */
                        yellow_envelope?: string[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/orphans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            agent_name: string;
                            /** Format: date-time */
                            last_seen: string;
                            svid_count: number;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/containment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.agent.containment`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                        ttl_seconds?: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.lifecycle`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/decommission": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.lifecycle`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/envelope/narrow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        scope_envelope: string[];
                        yellow_envelope: string[];
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/envelope/widen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        scope_envelope: string[];
                        yellow_envelope: string[];
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/owner-team": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        owner_team: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/description": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        description: string | null;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/certification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        sdk_version: string;
                        proxy_url: string;
                        catalog_sha256: string;
                        cases: {
                            id: string;
                            category: string;
                            expected: string;
                            observed: string;
                            passed: boolean;
                        }[];
                        total: number;
                        passed: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            certificate: {
                                sdk_version: string;
                                proxy_url: string;
                                catalog_sha256: string;
                                cases: {
                                    id: string;
                                    category: string;
                                    expected: string;
                                    observed: string;
                                    passed: boolean;
                                }[];
                                total: number;
                                passed: number;
                                /** @enum {string} */
                                schema: "gate.agent-certificate/v1";
                                /** Format: uuid */
                                agent_id: string;
                                tenant: string;
                                agent_name: string;
                                /** Format: date-time */
                                certified_at: string;
                            };
                            certificate_sha256: string;
                            signature: {
                                /** @enum {string} */
                                algorithm: "Ed25519";
                                key_id: string;
                                value: string;
                            };
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/attestation-kinds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        attestation_kinds: string[];
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/unsuspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.lifecycle`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description Default Response */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            agent_name: string;
                            /** @enum {string} */
                            state: "active" | "suspended" | "decommissioned";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            state_changed_at: string | null;
                            state_changed_by: string | null;
                            reason: string | null;
                            /** @enum {string} */
                            svid_bootstrap_state: "available" | "retired" | "recovery";
                            report_id: string | null;
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                            owner_team: string | null;
                            description: string | null;
                            certified_at_version: string | null;
                            certified_at: string | null;
                            scope_envelope: string[];
                            yellow_envelope: string[];
                            attestation_kinds_accepted: string[];
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                            somebody_else: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/containment/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.containment`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            force_hil: {
                                /** Format: date-time */
                                expires_at: string;
                                reason: string;
                                /** Format: date-time */
                                applied_at: string;
                                actor: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/grant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.grant.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_spiffe: string;
                        credential_fingerprint?: string;
                        id_token: string;
                        nonce?: string;
                        scope: string[];
                        /** @default [] */
                        yellow_scope?: string[];
                        max_uses?: number;
                        not_before?: number;
                        not_after?: number;
                        recurrence?: {
                            tz_offset_minutes: number;
                            windows: {
                                weekdays: number[];
                                start_minute: number;
                                end_minute: number;
                            }[];
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            grant: string;
                            /** Format: uuid */
                            jti: string;
                            sub: string;
                            act: {
                                sub: string;
                                idp: string;
                                amr: string[];
                            };
                            scope: string[];
                            yellow_scope: string[];
                            nbf: number | null;
                            exp: number;
                            max_uses: number | null;
                            recurrence: {
                                tz_offset_minutes: number;
                                windows: {
                                    weekdays: number[];
                                    start_minute: number;
                                    end_minute: number;
                                }[];
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.revocation.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    agent_name?: string;
                    active?: "true" | "false";
                    after?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            grants: ({
                                /** Format: uuid */
                                jti: string;
                                agent_spiffe: string;
                                human_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                                /** Format: date-time */
                                issued_at: string;
                                max_uses: number | null;
                                uses: number;
                                not_before: string | null;
                                not_after: string | null;
                                /** Format: date-time */
                                exp: string;
                                recurrence_summary: string | null;
                                revoked_at: string | null;
                                revoked_by: string | null;
                            } | {
                                jti: string;
                                tampered: string;
                            })[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/grants/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.grant.count`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        uses: {
                            /** Format: uuid */
                            jti: string;
                            uses: number;
                        }[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            told: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actor-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.actor-token.issue`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        binding: {
                            target: string;
                            tenant: string;
                            audience: string;
                            /** @enum {string} */
                            purpose: "agent-to-agent";
                            operation: string;
                            lifetime_seconds: number;
                        };
                        scope: string[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            token: string;
                            /** Format: uuid */
                            jti: string;
                            exp: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actor-token/redeem": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.actor-token.redeem`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        token: string;
                        expected: {
                            issuer: string;
                            subject: string;
                            audience: string;
                            scope: string[];
                            tenant: string;
                        };
                        shown_by: {
                            tenant: string;
                            agent_name: string;
                        };
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            iss: string;
                            sub: string;
                            aud: string;
                            scope: string[];
                            jti: string;
                            exp: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tool-definitions/pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tool-definition.pin`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        agent_id: string;
                        agent_spiffe?: string;
                        /** @enum {string} */
                        event: "pinned" | "drifted";
                        snapshot_sha256: string;
                        tools: {
                            name: string;
                            definition_sha256: string;
                        }[];
                        changes?: string[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            snapshot_sha256: string;
                            /** @enum {string} */
                            event_kind: "tool_definition.pinned" | "tool_definition.drifted";
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    state?: "suspended" | "active";
                    after?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            tool: string | null;
                            /** @enum {string} */
                            state: "suspended" | "active";
                            /** Format: date-time */
                            changed_at: string;
                            changed_by: string;
                            reason: string | null;
                            report_id: string | null;
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.agent.containment`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        tool?: string;
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            tool: string | null;
                            /** @enum {string} */
                            state: "suspended" | "active";
                            /** Format: date-time */
                            changed_at: string;
                            changed_by: string;
                            reason: string | null;
                            report_id: string | null;
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.agent.containment`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            tool: string | null;
                            /** @enum {string} */
                            state: "suspended" | "active";
                            /** Format: date-time */
                            changed_at: string;
                            changed_by: string;
                            reason: string | null;
                            report_id: string | null;
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                        };
                    };
                };
                /** @description Default Response */
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            tool: string | null;
                            /** @enum {string} */
                            state: "suspended" | "active";
                            /** Format: date-time */
                            changed_at: string;
                            changed_by: string;
                            reason: string | null;
                            report_id: string | null;
                            release: {
                                requested_by: string;
                                /** Format: date-time */
                                requested_at: string;
                                reason: string | null;
                                /** Format: date-time */
                                until: string;
                            } | null;
                            somebody_else: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/upstreams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.upstream.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            name: string;
                            url: string;
                            tls_pin: string | null;
                            spiffe_id: string | null;
                            owner_team: string | null;
                            /** @enum {string} */
                            state: "active" | "retired";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.upstream.register`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        name: string;
                        url: string;
                        tls_pin?: string;
                        spiffe_id?: string;
                        owner_team?: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            name: string;
                            url: string;
                            tls_pin: string | null;
                            spiffe_id: string | null;
                            owner_team: string | null;
                            /** @enum {string} */
                            state: "active" | "retired";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/upstreams/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.upstream.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            name: string;
                            url: string;
                            tls_pin: string | null;
                            spiffe_id: string | null;
                            owner_team: string | null;
                            /** @enum {string} */
                            state: "active" | "retired";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/upstreams/{id}/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.upstream.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            name: string;
                            url: string;
                            tls_pin: string | null;
                            spiffe_id: string | null;
                            owner_team: string | null;
                            /** @enum {string} */
                            state: "active" | "retired";
                            created_by_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/budget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.budget.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            budget_micros?: number;
                            /** Format: date-time */
                            updated_at?: string;
                            updated_by?: string;
                            reason?: string;
                            agents: {
                                agent_name: string;
                                budget_micros?: number;
                                /** Format: date-time */
                                updated_at?: string;
                                updated_by?: string;
                                reason?: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.budget.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        budget_micros?: unknown;
                        agent_name?: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            budget_micros?: number;
                            /** Format: date-time */
                            updated_at?: string;
                            updated_by?: string;
                            reason?: string;
                            agents: {
                                agent_name: string;
                                budget_micros?: number;
                                /** Format: date-time */
                                updated_at?: string;
                                updated_by?: string;
                                reason?: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/decoys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.decoy.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            decoys: {
                                /** Format: uuid */
                                id: string;
                                tenant: string | "*";
                                name: string;
                                /** @enum {string} */
                                kind: "tool" | "value";
                                advertised: boolean;
                                /** @enum {string} */
                                action: "suspend" | "force_hil" | "none";
                                schema_json: string | null;
                                description: string | null;
                                value_hint: string | null;
                                /** Format: date-time */
                                created_at: string;
                                created_by: string;
                                hits: number;
                                last_hit_at: string | null;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.decoy.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string | "*";
                        name: string;
                        /**
                         * @default tool
                         * @enum {string}
                         */
                        kind?: "tool" | "value";
                        value?: string;
                        /** @default false */
                        advertised?: boolean;
                        action?: string;
                        schema_json?: string;
                        description?: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string | "*";
                            name: string;
                            /** @enum {string} */
                            kind: "tool" | "value";
                            advertised: boolean;
                            /** @enum {string} */
                            action: "suspend" | "force_hil" | "none";
                            schema_json: string | null;
                            description: string | null;
                            value_hint: string | null;
                            /** Format: date-time */
                            created_at: string;
                            created_by: string;
                            hits: number;
                            last_hit_at: string | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/decoys/hits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.decoy.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            hits: {
                                /** Format: uuid */
                                decoy_id: string;
                                decoy: string;
                                /** @enum {string} */
                                kind: "tool" | "value";
                                tenant: string;
                                agent_name: string;
                                hits: number;
                                /** Format: date-time */
                                first_at: string;
                                /** Format: date-time */
                                last_at: string;
                                correlation_id: string;
                                /** @enum {string} */
                                contained: "suspend" | "force_hil" | "none" | "observed" | "unresolved";
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.decoy.count`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        hits: {
                            /** Format: uuid */
                            decoy_id: string;
                            tenant: string;
                            agent_name: string;
                            hits: number;
                            /** Format: date-time */
                            last_at: string;
                            correlation_id: string;
                            contain: boolean;
                        }[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            told: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/decoys/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** @description Capability `identity.decoy.manage`. */
        delete: {
            parameters: {
                query: {
                    tenant: string | "*";
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {boolean} */
                            retired: true;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops/reports/due": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.stop.report`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "agent" | "tool" | "tenant";
                            name: string | null;
                            /** Format: date-time */
                            stopped_at: string;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops/reports/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.stop.report`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: date-time */
                        looked_at: string;
                        calls: {
                            correlation_id: string;
                            agent: string;
                            tool: string;
                            contract: string;
                            /** @enum {string} */
                            was: "running" | "parked" | "judged" | "started";
                            /** @enum {string} */
                            state: "decided" | "denied" | "allowed" | "parked" | "approved" | "intended" | "completed" | "uncertain" | "not_run" | "expired" | "abandoned" | "aborted" | "tampered";
                            /** Format: date-time */
                            received_at: string;
                            /** Format: date-time */
                            state_since: string;
                            digest: string;
                            params_sha256: string;
                            pending_id: string | null;
                            outcome: {
                                stage: string;
                                code: string | null;
                                /** Format: date-time */
                                at: string;
                                result_sha256: string | null;
                            } | null;
                        }[];
                        left_out: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    before?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            stopped: {
                                /** @enum {string} */
                                kind: "agent" | "tool" | "tenant";
                                /** Format: uuid */
                                id: string;
                                name: string | null;
                            };
                            /** Format: date-time */
                            stopped_at: string;
                            stopped_by: string;
                            reason: string | null;
                            /** @enum {string} */
                            state: "taking-back" | "due" | "made";
                            certificates_revoked: number;
                            made_at: string | null;
                            report_sha256: string | null;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stops/reports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            stopped: {
                                /** @enum {string} */
                                kind: "agent" | "tool" | "tenant";
                                /** Format: uuid */
                                id: string;
                                name: string | null;
                            };
                            /** Format: date-time */
                            stopped_at: string;
                            stopped_by: string;
                            reason: string | null;
                            /** @enum {string} */
                            state: "taking-back" | "due" | "made";
                            certificates_revoked: number;
                            made_at: string | null;
                            report_sha256: string | null;
                            report: {
                                /** @enum {string} */
                                schema: "gate.stop-report/1";
                                /** Format: uuid */
                                id: string;
                                trust_domain: string;
                                tenant: string;
                                stopped: {
                                    /** @enum {string} */
                                    kind: "agent" | "tool" | "tenant";
                                    /** Format: uuid */
                                    id: string;
                                    name: string | null;
                                };
                                /** Format: date-time */
                                stopped_at: string;
                                stopped_by: string;
                                reason: string | null;
                                certificates_revoked: number;
                                not_taken_back?: {
                                    agent: string;
                                    rows: string[];
                                }[];
                                /** Format: date-time */
                                looked_at: string;
                                counts: {
                                    running: number;
                                    parked: number;
                                    judged: number;
                                    started: number;
                                    left_out: number;
                                };
                                calls: {
                                    correlation_id: string;
                                    agent: string;
                                    tool: string;
                                    contract: string;
                                    /** @enum {string} */
                                    was: "running" | "parked" | "judged" | "started";
                                    /** @enum {string} */
                                    state: "decided" | "denied" | "allowed" | "parked" | "approved" | "intended" | "completed" | "uncertain" | "not_run" | "expired" | "abandoned" | "aborted" | "tampered";
                                    /** Format: date-time */
                                    received_at: string;
                                    /** Format: date-time */
                                    state_since: string;
                                    digest: string;
                                    params_sha256: string;
                                    pending_id: string | null;
                                    outcome: {
                                        stage: string;
                                        code: string | null;
                                        /** Format: date-time */
                                        at: string;
                                        result_sha256: string | null;
                                    } | null;
                                }[];
                                /** Format: date-time */
                                made_at: string;
                                signature: {
                                    /** @enum {string} */
                                    algorithm: "ES256";
                                    key_id: string;
                                    value: string;
                                };
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/lifecycle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.tenant.lifecycle`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": ({
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        } | {
                            id: string;
                            tenant: string;
                            tampered: string;
                        })[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "provision" | "offboard";
                        confirm: string;
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        };
                    };
                };
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/lifecycle/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.tenant.lifecycle`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                    operation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                    operation_id: string;
                    step_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            operation: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                /** @enum {string} */
                                kind: "provision" | "offboard";
                                idempotency_key: string;
                                intent_sha256: string;
                                reason: string;
                                /** @enum {string} */
                                state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                                actor_sub: string;
                                /** Format: date-time */
                                created_at: string;
                                /** Format: date-time */
                                updated_at: string;
                                steps: {
                                    /** @enum {string} */
                                    id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                    order: number;
                                    /** @enum {string} */
                                    owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                    effect: string;
                                    /** @enum {string} */
                                    compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                    /** @enum {string} */
                                    state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                    attempts: number;
                                    lease_expires_at: string | null;
                                    next_retry_at: string | null;
                                    receipt_sha256: string | null;
                                    receipt: {
                                        [key: string]: components["schemas"]["Json"];
                                    } | null;
                                    last_error: string | null;
                                    claimed_by: string | null;
                                    completed_by: string | null;
                                    retried_by: string | null;
                                    /** Format: date-time */
                                    updated_at: string;
                                }[];
                            };
                            /** @enum {string} */
                            step_id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                            lease_token: string;
                            /** Format: date-time */
                            lease_expires_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                    operation_id: string;
                    step_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        lease_token: string;
                        /** @enum {string} */
                        outcome: "succeeded" | "retryable" | "manual_recovery";
                        receipt?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        error?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                    operation_id: string;
                    step_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": Record<string, never>;
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            idempotency_key: string;
                            intent_sha256: string;
                            reason: string;
                            /** @enum {string} */
                            state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                            actor_sub: string;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                            steps: {
                                /** @enum {string} */
                                id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                order: number;
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                effect: string;
                                /** @enum {string} */
                                compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                /** @enum {string} */
                                state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                attempts: number;
                                lease_expires_at: string | null;
                                next_retry_at: string | null;
                                receipt_sha256: string | null;
                                receipt: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                last_error: string | null;
                                claimed_by: string | null;
                                completed_by: string | null;
                                retried_by: string | null;
                                /** Format: date-time */
                                updated_at: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenants/{tenant}/offboard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.offboard`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        confirm: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            tenant: string;
                            /** @enum {string} */
                            state: "offboarded";
                            generation: number;
                            agents_decommissioned: number;
                            budget_cleared: boolean;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenant-operations/due": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.tenant.drive`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenant-operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.tenant.drive`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    operation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            operation: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                /** @enum {string} */
                                kind: "provision" | "offboard";
                                idempotency_key: string;
                                intent_sha256: string;
                                reason: string;
                                /** @enum {string} */
                                state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                                actor_sub: string;
                                /** Format: date-time */
                                created_at: string;
                                /** Format: date-time */
                                updated_at: string;
                                steps: {
                                    /** @enum {string} */
                                    id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                    order: number;
                                    /** @enum {string} */
                                    owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                    effect: string;
                                    /** @enum {string} */
                                    compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                    /** @enum {string} */
                                    state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                    attempts: number;
                                    lease_expires_at: string | null;
                                    next_retry_at: string | null;
                                    receipt_sha256: string | null;
                                    receipt: {
                                        [key: string]: components["schemas"]["Json"];
                                    } | null;
                                    last_error: string | null;
                                    claimed_by: string | null;
                                    completed_by: string | null;
                                    retried_by: string | null;
                                    /** Format: date-time */
                                    updated_at: string;
                                }[];
                            };
                            wait_ms: number | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenant-operations/{operation_id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.drive`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    operation_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": Record<string, never>;
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            operation: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                /** @enum {string} */
                                kind: "provision" | "offboard";
                                idempotency_key: string;
                                intent_sha256: string;
                                reason: string;
                                /** @enum {string} */
                                state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                                actor_sub: string;
                                /** Format: date-time */
                                created_at: string;
                                /** Format: date-time */
                                updated_at: string;
                                steps: {
                                    /** @enum {string} */
                                    id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                    order: number;
                                    /** @enum {string} */
                                    owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                    effect: string;
                                    /** @enum {string} */
                                    compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                    /** @enum {string} */
                                    state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                    attempts: number;
                                    lease_expires_at: string | null;
                                    next_retry_at: string | null;
                                    receipt_sha256: string | null;
                                    receipt: {
                                        [key: string]: components["schemas"]["Json"];
                                    } | null;
                                    last_error: string | null;
                                    claimed_by: string | null;
                                    completed_by: string | null;
                                    retried_by: string | null;
                                    /** Format: date-time */
                                    updated_at: string;
                                }[];
                            };
                            wait_ms: number | null;
                            claim: {
                                /** @enum {string} */
                                step_id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                /** @enum {string} */
                                owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                lease_token: string;
                                warrant: {
                                    /** @enum {string} */
                                    owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                    tenant: string;
                                    /** Format: uuid */
                                    operation_id: string;
                                    /** @enum {string} */
                                    kind: "provision" | "offboard";
                                    /** @enum {string} */
                                    step_id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                    asked_by: string;
                                    /** Format: date-time */
                                    not_after: string;
                                    signature: {
                                        /** @enum {string} */
                                        algorithm: "ES256";
                                        key_id: string;
                                        value: string;
                                    };
                                };
                                feed_generation: number;
                            } | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tenant-operations/{operation_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.tenant.drive`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    operation_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        lease_token: string;
                        /** @enum {string} */
                        outcome: "succeeded" | "retryable" | "manual_recovery";
                        receipt?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        error?: string;
                        /** @enum {string} */
                        step_id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            operation: {
                                /** Format: uuid */
                                id: string;
                                tenant: string;
                                /** @enum {string} */
                                kind: "provision" | "offboard";
                                idempotency_key: string;
                                intent_sha256: string;
                                reason: string;
                                /** @enum {string} */
                                state: "pending" | "running" | "waiting_retry" | "manual_recovery" | "succeeded";
                                actor_sub: string;
                                /** Format: date-time */
                                created_at: string;
                                /** Format: date-time */
                                updated_at: string;
                                steps: {
                                    /** @enum {string} */
                                    id: "tenant_record" | "credential_keys" | "policy_namespace" | "hil_namespace" | "cache_generation" | "ledger_lifecycle_marker" | "authority_fence" | "ledger_final_export" | "ledger_tombstone" | "retained_backup_disposition";
                                    order: number;
                                    /** @enum {string} */
                                    owner: "identity" | "policy-engine" | "hil" | "proxy" | "ledger" | "platform";
                                    effect: string;
                                    /** @enum {string} */
                                    compensation: "idempotent-reverse" | "manual-recovery-only" | "not-required";
                                    /** @enum {string} */
                                    state: "pending" | "running" | "retryable" | "manual_recovery" | "succeeded";
                                    attempts: number;
                                    lease_expires_at: string | null;
                                    next_retry_at: string | null;
                                    receipt_sha256: string | null;
                                    receipt: {
                                        [key: string]: components["schemas"]["Json"];
                                    } | null;
                                    last_error: string | null;
                                    claimed_by: string | null;
                                    completed_by: string | null;
                                    retried_by: string | null;
                                    /** Format: date-time */
                                    updated_at: string;
                                }[];
                            };
                            wait_ms: number | null;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/spiffe-bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.keys.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            keys: ({
                                /** @enum {string} */
                                use: "x509-svid";
                                kty: string;
                                crv: string;
                                x: string;
                                y: string;
                                x5c: string[];
                            } | {
                                /** @enum {string} */
                                use: "jwt-svid";
                                kty: string;
                                crv: string;
                                x: string;
                                kid: string;
                            })[];
                            spiffe_sequence: number;
                            spiffe_refresh_hint: number;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.keys.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            keys: {
                                /** @enum {string} */
                                kty: "OKP";
                                /** @enum {string} */
                                crv: "Ed25519";
                                x: string;
                                kid: string;
                                /** @enum {string} */
                                use: "sig";
                                /** @enum {string} */
                                alg: "EdDSA";
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.signing-keys.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            keys: {
                                id: string;
                                /** @enum {string} */
                                use: "certificates" | "tokens";
                                /** @enum {string} */
                                state: "announced" | "signing" | "retiring" | "withdrawn";
                                public_pem: string;
                                configured: boolean;
                                request_id: string | null;
                                /** Format: date-time */
                                announced_at: string;
                                /** Format: date-time */
                                signs_from: string;
                                retired_at: string | null;
                                withdrawn_from: string | null;
                                by: string;
                            }[];
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/rotations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.signing-keys.rotate`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** Format: uuid */
                        request_id: string;
                        /** @enum {string} */
                        use: "certificates" | "tokens";
                        /** Format: date-time */
                        old_until?: string;
                        reason?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            id: string;
                            /** @enum {string} */
                            use: "certificates" | "tokens";
                            /** @enum {string} */
                            state: "announced" | "signing" | "retiring" | "withdrawn";
                            public_pem: string;
                            configured: boolean;
                            request_id: string | null;
                            /** Format: date-time */
                            announced_at: string;
                            /** Format: date-time */
                            signs_from: string;
                            retired_at: string | null;
                            withdrawn_from: string | null;
                            by: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/challenges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.attestation.verify`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        ak_key_id: string;
                        measurement_policy_version: string;
                        csr_pem?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            challenge_id: string;
                            /** Format: uuid */
                            request_id: string;
                            challenge: {
                                nonce: string;
                                /** Format: date-time */
                                issuedAt: string;
                                /** Format: date-time */
                                expiresAt: string;
                            };
                            expected: {
                                publicKeySha256: string;
                                svidSha256: string;
                                spiffeId: string;
                                tenant: string;
                                workload: string;
                                instance: string;
                                platformIssuer: string;
                                trustAnchorId: string;
                                measurementPolicyVersion: string;
                                verifierPolicyVersion: string;
                            };
                            /** Format: date-time */
                            requested_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.attestation.verify`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        contractVersion: string;
                        /** Format: uuid */
                        requestId: string;
                        evidenceKind: string;
                        evidence: string;
                        evidenceSha256: string;
                        challenge: {
                            nonce: string;
                            /** Format: date-time */
                            issuedAt: string;
                            /** Format: date-time */
                            expiresAt: string;
                        };
                        expected: {
                            publicKeySha256: string;
                            svidSha256: string;
                            spiffeId: string;
                            tenant: string;
                            workload: string;
                            instance: string;
                            platformIssuer: string;
                            trustAnchorId: string;
                            measurementPolicyVersion: string;
                            verifierPolicyVersion: string;
                        };
                        /** Format: date-time */
                        requestedAt: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contractVersion: "1.0.0";
                            /** Format: uuid */
                            requestId: string;
                            /** @enum {string} */
                            status: "verified";
                            /** @enum {string} */
                            evidenceKind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                            evidenceSha256: string;
                            measurementSha256: string;
                            challengeNonceSha256: string;
                            publicKeySha256: string;
                            svidSha256: string;
                            spiffeId: string;
                            tenant: string;
                            workload: string;
                            instance: string;
                            platformIssuer: string;
                            trustAnchorId: string;
                            measurementPolicyVersion: string;
                            verifierPolicyVersion: string;
                            verifierId: string;
                            /** Format: date-time */
                            issuedAt: string;
                            /** Format: date-time */
                            verifiedAt: string;
                            /** Format: date-time */
                            expiresAt: string;
                        };
                    };
                };
                /** @description A refusal: of the evidence, or of the request. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contractVersion: "1.0.0";
                            requestId: string | null;
                            /** @enum {string} */
                            status: "rejected";
                            /** @enum {string} */
                            reason: "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_evidence_too_large" | "attestation_kind_unsupported" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_verifier_unavailable";
                        } | components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/runtime": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.attestation.runtime.read`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        agent_spiffe: string;
                        credential_fingerprint: string;
                        public_key_sha256?: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contractVersion: "1.0.0";
                            /** Format: uuid */
                            requestId: string;
                            /** @enum {string} */
                            status: "verified";
                            /** @enum {string} */
                            evidenceKind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                            evidenceSha256: string;
                            measurementSha256: string;
                            challengeNonceSha256: string;
                            publicKeySha256: string;
                            svidSha256: string;
                            spiffeId: string;
                            tenant: string;
                            workload: string;
                            instance: string;
                            platformIssuer: string;
                            trustAnchorId: string;
                            measurementPolicyVersion: string;
                            verifierPolicyVersion: string;
                            verifierId: string;
                            /** Format: date-time */
                            issuedAt: string;
                            /** Format: date-time */
                            verifiedAt: string;
                            /** Format: date-time */
                            expiresAt: string;
                        };
                    };
                };
                /** @description A refusal: of the evidence, or of the request. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** @enum {string} */
                            contractVersion: "1.0.0";
                            requestId: string | null;
                            /** @enum {string} */
                            status: "rejected";
                            /** @enum {string} */
                            reason: "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_evidence_too_large" | "attestation_kind_unsupported" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_verifier_unavailable";
                        } | components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/measurements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `identity.attestation.measurement.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    workload?: string;
                    state?: "approved" | "retired";
                    after?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            workload: string;
                            /** @enum {string} */
                            evidence_kind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                            measurement_sha256: string;
                            platform_issuer: string;
                            trust_anchor_id: string;
                            measurement_policy_version: string;
                            verifier_policy_version: string;
                            /** @enum {string} */
                            state: "approved" | "retired";
                            reason: string;
                            approved_by_sub: string;
                            /** Format: date-time */
                            approved_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                            signature: string;
                            key_id: string;
                        }[];
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        put?: never;
        /** @description Capability `identity.attestation.measurement.manage`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        tenant: string;
                        workload: string;
                        /** @enum {string} */
                        evidence_kind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                        measurement_sha256: string;
                        platform_issuer: string;
                        trust_anchor_id: string;
                        measurement_policy_version: string;
                        verifier_policy_version: string;
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            workload: string;
                            /** @enum {string} */
                            evidence_kind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                            measurement_sha256: string;
                            platform_issuer: string;
                            trust_anchor_id: string;
                            measurement_policy_version: string;
                            verifier_policy_version: string;
                            /** @enum {string} */
                            state: "approved" | "retired";
                            reason: string;
                            approved_by_sub: string;
                            /** Format: date-time */
                            approved_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                            signature: string;
                            key_id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/measurements/{id}/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.attestation.measurement.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            tenant: string;
                            workload: string;
                            /** @enum {string} */
                            evidence_kind: "aws-nitro" | "gcp-shielded" | "k8s-key-bound" | "sev-snp" | "sgx-dcap" | "tpm2-quote";
                            measurement_sha256: string;
                            platform_issuer: string;
                            trust_anchor_id: string;
                            measurement_policy_version: string;
                            verifier_policy_version: string;
                            /** @enum {string} */
                            state: "approved" | "retired";
                            reason: string;
                            approved_by_sub: string;
                            /** Format: date-time */
                            approved_at: string;
                            retired_at: string | null;
                            retired_by: string | null;
                            signature: string;
                            key_id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/tpm2-enrollment-challenges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.attestation.measurement.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        ak_key_id: string;
                        measurement_policy_version: string;
                        csr_pem: string;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            challenge_id: string;
                            /** Format: uuid */
                            request_id: string;
                            challenge: {
                                nonce: string;
                                /** Format: date-time */
                                issuedAt: string;
                                /** Format: date-time */
                                expiresAt: string;
                            };
                            expected: {
                                publicKeySha256: string;
                                svidSha256: string;
                                spiffeId: string;
                                tenant: string;
                                workload: string;
                                instance: string;
                                platformIssuer: string;
                                trustAnchorId: string;
                                measurementPolicyVersion: string;
                                verifierPolicyVersion: string;
                            };
                            /** Format: date-time */
                            requested_at: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tpm2-enrollment/{challenge_id}/svid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.svid.agent.issue`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    challenge_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        csr_pem: string;
                        attestation: {
                            contractVersion: string;
                            /** Format: uuid */
                            requestId: string;
                            evidenceKind: string;
                            evidence: string;
                            evidenceSha256: string;
                            challenge: {
                                nonce: string;
                                /** Format: date-time */
                                issuedAt: string;
                                /** Format: date-time */
                                expiresAt: string;
                            };
                            expected: {
                                publicKeySha256: string;
                                svidSha256: string;
                                spiffeId: string;
                                tenant: string;
                                workload: string;
                                instance: string;
                                platformIssuer: string;
                                trustAnchorId: string;
                                measurementPolicyVersion: string;
                                verifierPolicyVersion: string;
                            };
                            /** Format: date-time */
                            requestedAt: string;
                        };
                        /** @default 3600 */
                        ttl_seconds?: number;
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            /** Format: uuid */
                            id: string;
                            spiffe_id: string;
                            cert_pem: string;
                            ca_cert_pem: string;
                            /** Format: date-time */
                            not_before: string;
                            /** Format: date-time */
                            not_after: string;
                            /** Format: uuid */
                            attestation_id: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `identity.token.exchange`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/x-www-form-urlencoded": {
                        grant_type: string;
                        subject_token: string;
                        subject_token_type: string;
                        scope: string;
                        requested_token_type?: string;
                        client_id?: string;
                        nonce?: string;
                        max_uses?: string;
                        not_before?: string;
                        not_after?: string;
                    } & {
                        [key: string]: string | string[];
                    };
                };
            };
            responses: {
                /** @description Default Response */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            access_token: string;
                            /** @enum {string} */
                            issued_token_type: "urn:ietf:params:oauth:token-type:jwt";
                            /** @enum {string} */
                            token_type: "N_A";
                            expires_in: number;
                            scope: string;
                        };
                    };
                };
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        JsonInput: unknown;
        RefusalInput: {
            /** @enum {string} */
            error: "invalid_mcp" | "unsupported_method" | "unjudged_field" | "batch_too_large" | "decision_selector_invalid" | "decision_selector_conflict" | "decision_tool_required" | "server_execution_selector_invalid" | "server_execution_selector_conflict" | "server_execution_tool_required" | "decision_handle_unknown" | "certificate_required" | "execution_receipt_invalid" | "execution_receipt_conflict" | "callback_not_allowed" | "unauthorized" | "certificate_revoked" | "certificate_superseded" | "control_state_unavailable" | "agent_suspended" | "tool_suspended" | "tenant_suspended" | "tenant_decommissioned" | "agent_decommissioned" | "token_invalid" | "credentials_disagree" | "token_scope_insufficient" | "token_agent_unknown" | "token_keys_unavailable" | "grant_invalid" | "grant_expired" | "grant_not_yet_valid" | "grant_outside_schedule" | "grant_usage_exhausted" | "grant_revoked" | "grant_required" | "scope_outside_envelope" | "grant_jwks_unavailable" | "a2a_redeem_failed" | "a2a_unavailable" | "credential_not_judged" | "host_not_allowed" | "method_not_allowed" | "session_not_found" | "task_not_found" | "task_not_cancellable" | "client_capability_missing" | "mcp_header_mismatch" | "request_state_invalid" | "request_state_mismatch" | "mcp_envelope_invalid" | "protocol_version_unsupported" | "request_timeout" | "uri_too_long" | "request_headers_too_large" | "request_too_large" | "client_contract_required" | "rate_limited" | "review_backlog_full" | "quota_exceeded" | "policy_denied" | "review_denied" | "review_expired" | "call_withdrawn" | "decision_idempotency_conflict" | "server_execution_idempotency_conflict" | "server_execution_uncertain" | "reconciled_not_run" | "not_uncertain" | "call_aborted" | "call_abandoned" | "attempt_not_begun" | "call_tampered" | "authorization_expired" | "pins_changed_meanwhile" | "pins_tampered" | "call_purged" | "upstream_unreachable" | "upstream_invalid_response" | "tool_classes_unreadable" | "tool_class_outdated" | "tool_not_listed" | "tool_classes_busy" | "egress_blocked" | "tool_definition_poisoned" | "tool_unknown" | "tool_quarantined" | "tool_definition_changed" | "policy_changed" | "budget_changed" | "agent_standing_changed" | "upstream_timeout" | "upstream_not_configured" | "pipeline_unavailable" | "store_unavailable" | "ledger_store_unavailable" | "report_too_large" | "signing_unavailable" | "chain_verification_incomplete" | "window_vacuumed" | "export_sink_unavailable" | "checkpoint_inconsistent" | "provider_unavailable" | "console_neighbour_away" | "chain_walk_under_way" | "sign_in_busy" | "csrf_failed" | "role_too_low" | "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_grant" | "invalid_client" | "invalid_scope" | "invalid_target" | "unauthorized_client" | "unsupported_grant_type" | "policy_unavailable" | "policy_invalid" | "policy_protected" | "policy_exists" | "version_conflict" | "policy_lab_busy" | "suggestion_withdrawn" | "bundle_gone" | "policy_tampered" | "policy_compiler_unavailable" | "sandbox_unavailable" | "orchestrator_unavailable" | "decision_not_sent" | "invalid_request" | "policy_input_invalid" | "invalid_window" | "invalid_meter_window" | "invalid_adjustment" | "invalid_log_request" | "payload_commitment_invalid" | "partial_signature" | "proof_out_of_range" | "cosignature_invalid" | "signed_position_invalid" | "unsupported_media_type" | "final_export_required" | "tenant_reserved" | "tenant_required" | "signature_invalid" | "verification_keys_unavailable" | "unauthenticated" | "caller_spiffe_missing" | "capability_denied" | "invalid_token" | "budget_invalid" | "budgets_exhausted" | "decoy_invalid" | "decoy_exists" | "decoys_exhausted" | "tenant_mismatch" | "scope_not_normalized" | "envelope_not_narrower" | "envelope_not_wider" | "invalid_grant_terms" | "yellow_scope_outside_envelope" | "delegation_not_configured" | "jwks_unavailable" | "invalid_csr" | "invalid_csr_signature" | "csr_too_large" | "unsupported_csr_algorithm" | "csr_extensions_forbidden" | "ttl_seconds_too_large" | "agent_name_reserved" | "owner_team_not_in_token" | "certification_incomplete" | "uncertified_agent" | "invalid_upstream_url" | "upstream_url_taken" | "upstream_name_taken" | "upstreams_exhausted" | "agent_name_taken" | "agent_name_retired" | "person_required" | "stop_changed" | "malformed_token" | "binding_mismatch" | "snapshot_mismatch" | "peer_bundle_unknown" | "peer_bundle_stale" | "jti_already_used" | "replay_store_unavailable" | "unregistered_agent" | "issuance_authority_denied" | "issuance_replay" | "identity_tampered" | "renewals_exhausted" | "caller_not_allowed" | "issuance_conflict" | "workload_certificate_ended" | "bootstrap_not_available" | "recovery_pending" | "bootstrap_not_retired" | "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_kind_unsupported" | "attestation_evidence_too_large" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_kind_unknown" | "measurement_exists" | "attestation_verifier_unavailable" | "ca_unavailable" | "case_not_found" | "invalid_status" | "invalid_severity" | "not_found" | "already_decided" | "pending_expired" | "pending_aborted" | "operation_conflict" | "hold_conflict" | "note_conflict" | "pending_conflict" | "tenant_offboarded" | "confirm_mismatch" | "idempotency_key_required" | "lifecycle_conflict" | "rotation_active" | "rotation_unavailable" | "lifecycle_active" | "step_not_next" | "owner_mismatch" | "lease_held" | "retry_not_due" | "manual_recovery" | "lease_invalid" | "step_not_retryable" | "receipt_required" | "receipt_too_large" | "warrant_invalid" | "warrant_over" | "operation_unfinished" | "action_digest_mismatch" | "review_tampered" | "channel_already_linked" | "identity_not_linked" | "link_code_invalid" | "chat_signature_invalid" | "invalid_cursor" | "still_pending" | "unknown_escalation_pool" | "no_channel_set" | "not_pending" | "review_held" | "ledger_entry_conflict" | "adjustment_conflict" | "adjustment_below_zero" | "payload_too_large" | "modified_payload_rejected" | "unsupported_decision" | "invalid_modification_diff" | "modify_under_quorum" | "modification_unjudged" | "own_request" | "passkey_required" | "passkey_refused" | "passkeys_not_set_up" | "passkeys_not_vouched" | "passkey_session_required" | "recovery_refused" | "passkey_known" | "person_known" | "ceremony_not_found" | "decision_refused" | "clocks_apart" | "tenant_scope_required" | "legacy_identity_header" | "forwarded_certificate" | "modification_diff_required" | "payload_unavailable" | "unknown_tier" | "namespace_required" | "invalid_callback" | "invalid_ttl" | "internal_error";
            reason?: string;
            reasoning?: string;
            correlation_id: string;
        } & {
            [key: string]: unknown;
        };
        Json: unknown;
        Refusal: {
            /** @enum {string} */
            error: "invalid_mcp" | "unsupported_method" | "unjudged_field" | "batch_too_large" | "decision_selector_invalid" | "decision_selector_conflict" | "decision_tool_required" | "server_execution_selector_invalid" | "server_execution_selector_conflict" | "server_execution_tool_required" | "decision_handle_unknown" | "certificate_required" | "execution_receipt_invalid" | "execution_receipt_conflict" | "callback_not_allowed" | "unauthorized" | "certificate_revoked" | "certificate_superseded" | "control_state_unavailable" | "agent_suspended" | "tool_suspended" | "tenant_suspended" | "tenant_decommissioned" | "agent_decommissioned" | "token_invalid" | "credentials_disagree" | "token_scope_insufficient" | "token_agent_unknown" | "token_keys_unavailable" | "grant_invalid" | "grant_expired" | "grant_not_yet_valid" | "grant_outside_schedule" | "grant_usage_exhausted" | "grant_revoked" | "grant_required" | "scope_outside_envelope" | "grant_jwks_unavailable" | "a2a_redeem_failed" | "a2a_unavailable" | "credential_not_judged" | "host_not_allowed" | "method_not_allowed" | "session_not_found" | "task_not_found" | "task_not_cancellable" | "client_capability_missing" | "mcp_header_mismatch" | "request_state_invalid" | "request_state_mismatch" | "mcp_envelope_invalid" | "protocol_version_unsupported" | "request_timeout" | "uri_too_long" | "request_headers_too_large" | "request_too_large" | "client_contract_required" | "rate_limited" | "review_backlog_full" | "quota_exceeded" | "policy_denied" | "review_denied" | "review_expired" | "call_withdrawn" | "decision_idempotency_conflict" | "server_execution_idempotency_conflict" | "server_execution_uncertain" | "reconciled_not_run" | "not_uncertain" | "call_aborted" | "call_abandoned" | "attempt_not_begun" | "call_tampered" | "authorization_expired" | "pins_changed_meanwhile" | "pins_tampered" | "call_purged" | "upstream_unreachable" | "upstream_invalid_response" | "tool_classes_unreadable" | "tool_class_outdated" | "tool_not_listed" | "tool_classes_busy" | "egress_blocked" | "tool_definition_poisoned" | "tool_unknown" | "tool_quarantined" | "tool_definition_changed" | "policy_changed" | "budget_changed" | "agent_standing_changed" | "upstream_timeout" | "upstream_not_configured" | "pipeline_unavailable" | "store_unavailable" | "ledger_store_unavailable" | "report_too_large" | "signing_unavailable" | "chain_verification_incomplete" | "window_vacuumed" | "export_sink_unavailable" | "checkpoint_inconsistent" | "provider_unavailable" | "console_neighbour_away" | "chain_walk_under_way" | "sign_in_busy" | "csrf_failed" | "role_too_low" | "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_grant" | "invalid_client" | "invalid_scope" | "invalid_target" | "unauthorized_client" | "unsupported_grant_type" | "policy_unavailable" | "policy_invalid" | "policy_protected" | "policy_exists" | "version_conflict" | "policy_lab_busy" | "suggestion_withdrawn" | "bundle_gone" | "policy_tampered" | "policy_compiler_unavailable" | "sandbox_unavailable" | "orchestrator_unavailable" | "decision_not_sent" | "invalid_request" | "policy_input_invalid" | "invalid_window" | "invalid_meter_window" | "invalid_adjustment" | "invalid_log_request" | "payload_commitment_invalid" | "partial_signature" | "proof_out_of_range" | "cosignature_invalid" | "signed_position_invalid" | "unsupported_media_type" | "final_export_required" | "tenant_reserved" | "tenant_required" | "signature_invalid" | "verification_keys_unavailable" | "unauthenticated" | "caller_spiffe_missing" | "capability_denied" | "invalid_token" | "budget_invalid" | "budgets_exhausted" | "decoy_invalid" | "decoy_exists" | "decoys_exhausted" | "tenant_mismatch" | "scope_not_normalized" | "envelope_not_narrower" | "envelope_not_wider" | "invalid_grant_terms" | "yellow_scope_outside_envelope" | "delegation_not_configured" | "jwks_unavailable" | "invalid_csr" | "invalid_csr_signature" | "csr_too_large" | "unsupported_csr_algorithm" | "csr_extensions_forbidden" | "ttl_seconds_too_large" | "agent_name_reserved" | "owner_team_not_in_token" | "certification_incomplete" | "uncertified_agent" | "invalid_upstream_url" | "upstream_url_taken" | "upstream_name_taken" | "upstreams_exhausted" | "agent_name_taken" | "agent_name_retired" | "person_required" | "stop_changed" | "malformed_token" | "binding_mismatch" | "snapshot_mismatch" | "peer_bundle_unknown" | "peer_bundle_stale" | "jti_already_used" | "replay_store_unavailable" | "unregistered_agent" | "issuance_authority_denied" | "issuance_replay" | "identity_tampered" | "renewals_exhausted" | "caller_not_allowed" | "issuance_conflict" | "workload_certificate_ended" | "bootstrap_not_available" | "recovery_pending" | "bootstrap_not_retired" | "attestation_contract_version_unsupported" | "attestation_evidence_malformed" | "attestation_kind_unsupported" | "attestation_evidence_too_large" | "attestation_kind_not_accepted" | "attestation_challenge_invalid" | "attestation_nonce_mismatch" | "attestation_evidence_future" | "attestation_evidence_stale" | "attestation_key_mismatch" | "attestation_svid_mismatch" | "attestation_identity_mismatch" | "attestation_tenant_mismatch" | "attestation_workload_mismatch" | "attestation_instance_mismatch" | "attestation_measurement_unapproved" | "attestation_issuer_untrusted" | "attestation_verifier_policy_mismatch" | "attestation_kind_unknown" | "measurement_exists" | "attestation_verifier_unavailable" | "ca_unavailable" | "case_not_found" | "invalid_status" | "invalid_severity" | "not_found" | "already_decided" | "pending_expired" | "pending_aborted" | "operation_conflict" | "hold_conflict" | "note_conflict" | "pending_conflict" | "tenant_offboarded" | "confirm_mismatch" | "idempotency_key_required" | "lifecycle_conflict" | "rotation_active" | "rotation_unavailable" | "lifecycle_active" | "step_not_next" | "owner_mismatch" | "lease_held" | "retry_not_due" | "manual_recovery" | "lease_invalid" | "step_not_retryable" | "receipt_required" | "receipt_too_large" | "warrant_invalid" | "warrant_over" | "operation_unfinished" | "action_digest_mismatch" | "review_tampered" | "channel_already_linked" | "identity_not_linked" | "link_code_invalid" | "chat_signature_invalid" | "invalid_cursor" | "still_pending" | "unknown_escalation_pool" | "no_channel_set" | "not_pending" | "review_held" | "ledger_entry_conflict" | "adjustment_conflict" | "adjustment_below_zero" | "payload_too_large" | "modified_payload_rejected" | "unsupported_decision" | "invalid_modification_diff" | "modify_under_quorum" | "modification_unjudged" | "own_request" | "passkey_required" | "passkey_refused" | "passkeys_not_set_up" | "passkeys_not_vouched" | "passkey_session_required" | "recovery_refused" | "passkey_known" | "person_known" | "ceremony_not_found" | "decision_refused" | "clocks_apart" | "tenant_scope_required" | "legacy_identity_header" | "forwarded_certificate" | "modification_diff_required" | "payload_unavailable" | "unknown_tier" | "namespace_required" | "invalid_callback" | "invalid_ttl" | "internal_error";
            reason?: string;
            reasoning?: string;
            correlation_id: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

// Made from docs/openapi/proxy.json by `npm run types`.
export interface paths {
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
                    };
                };
            };
        };
        put?: never;
        /** One JSON-RPC request of the Model Context Protocol. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    "X-Gate-Decision-Contract"?: "gate.decision/v1";
                    "X-Gate-Server-Execution-Contract"?: "gate.server-execution/v1";
                    "X-Gate-Idempotency-Id"?: string;
                    "X-Gate-Pending-Id"?: string;
                    "X-Gate-Pending-Payload-Sha256"?: string;
                    "X-Gate-Callback-Url"?: string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        jsonrpc: "2.0";
                        id?: string | number;
                        method: string;
                        params?: {
                            [key: string]: unknown;
                        };
                    } & {
                        [key: string]: unknown;
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
                            [key: string]: unknown;
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
                            [key: string]: unknown;
                        };
                    };
                };
                /** @description Default Response */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
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
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tool/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** One call of a tool. The body is its arguments. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    "X-Gate-Decision-Contract"?: "gate.decision/v1";
                    "X-Gate-Server-Execution-Contract"?: "gate.server-execution/v1";
                    "X-Gate-Idempotency-Id"?: string;
                    "X-Gate-Pending-Id"?: string;
                    "X-Gate-Pending-Payload-Sha256"?: string;
                    "X-Gate-Callback-Url"?: string;
                };
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        [key: string]: unknown;
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
                            [key: string]: unknown;
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
                            [key: string]: unknown;
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
    "/docs/select-a-contract": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
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
                        "text/markdown": string;
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
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
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
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
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
                            /** Format: uri */
                            resource: string;
                            resource_name: string;
                            authorization_servers: string[];
                            bearer_methods_supported: "header"[];
                            scopes_supported?: string[];
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
    "/.well-known/oauth-protected-resource/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
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
                            /** Format: uri */
                            resource: string;
                            resource_name: string;
                            authorization_servers: string[];
                            bearer_methods_supported: "header"[];
                            scopes_supported?: string[];
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
    "/pending/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
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
    "/authorizations/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A refusal. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Refusal"];
                    };
                };
                /** @description The answer. */
                "2XX": {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "*/*": unknown;
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
    "/svid/renew": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
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
    "/grant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
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
    "/execution-receipts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
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
                        contract: "gate.execution/v1";
                        /** @enum {string} */
                        stage: "execution.completed";
                        /** Format: uuid */
                        authorization_id: string;
                        /** Format: uuid */
                        idempotency_id: string;
                        /** Format: uuid */
                        correlation_id: string;
                        agent_id: string;
                        agent_spiffe: string;
                        tenant: string;
                        credential_fingerprint: string;
                        method: string;
                        tool_name: string;
                        payload_sha256: string;
                        authorization: {
                            authorization: {
                                [key: string]: components["schemas"]["JsonInput"];
                            };
                            identity_signature: {
                                /** @enum {string} */
                                algorithm: "Ed25519";
                                key_id: string;
                                value: string;
                            };
                        };
                        result_sha256: string;
                        effect_id: string;
                        workload_signature: {
                            /** @enum {string} */
                            algorithm: "ES256";
                            credential_fingerprint: string;
                            value: string;
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
                            /** @enum {string} */
                            status: "recorded";
                            /** @enum {string} */
                            contract: "gate.execution/v1";
                            /** @enum {string} */
                            stage: "execution.completed";
                            /** Format: uuid */
                            authorization_id: string;
                            receipt_sha256: string;
                            identity_signature: {
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
    "/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.tool-class.read`. */
        get: {
            parameters: {
                query?: {
                    hours?: number;
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
                            upstream: string;
                            hours: number;
                            tools: {
                                tool: string;
                                class: ("read" | "change" | "review" | "strict" | "deny") | null;
                                /** @enum {string} */
                                source: "operator" | "shipped" | "name" | "none";
                                suspended: boolean;
                                definition_sha256: string | null;
                                set_by: string | null;
                                set_at: string | null;
                                reason: string | null;
                                rule: {
                                    /** @enum {string} */
                                    effect: "denies" | "asks";
                                    reason: string;
                                } | null;
                                lately: {
                                    ran: number;
                                    asked: number;
                                    denied: number;
                                    failed: number;
                                };
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
    "/tools/class": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `proxy.tool-class.manage`. */
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
                        tool: string;
                        /** @enum {string} */
                        class: "read" | "change" | "review" | "strict" | "deny";
                        reason?: string | null;
                        definition_sha256?: string | null;
                        unlisted?: boolean | null;
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
                            class: "read" | "change" | "review" | "strict" | "deny";
                            definition_sha256: string | null;
                            reason: string | null;
                            set_by: string;
                            set_at: string;
                            rule: {
                                /** @enum {string} */
                                effect: "denies" | "asks";
                                reason: string;
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
    "/tools/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `proxy.tool-class.manage`. */
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
                        tool: string;
                    } | {
                        /** @enum {boolean} */
                        all: true;
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
                            forgotten: number;
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
    "/pins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.tool-pin.read`. */
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
                            agents: {
                                tenant: string;
                                agent: string;
                                tools: number;
                                since: string;
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
    "/pins/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.tool-pin.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent: string;
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
                            agent: string;
                            tampered: boolean;
                            tools: {
                                tool: string;
                                /** @enum {string} */
                                change: "changed" | "added" | "removed";
                                pinned_sha256: string | null;
                                seen_sha256: string | null;
                                pinned_definition: string | null;
                                seen_definition: string | null;
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
    "/pins/{agent}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.tool-pin.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent: string;
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
                            agent: string;
                            tools: {
                                tool: string;
                                definition: string | null;
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
    "/pins/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `proxy.tool-pin.manage`. */
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
                        agent: string;
                        seen: {
                            [key: string]: string | null;
                        };
                        reason?: string | null;
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
                            accepted: string[];
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
    "/pins/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `proxy.tool-pin.manage`. */
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
                        agent: string;
                        reason?: string | null;
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
                            forgotten: number;
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
    "/uncertain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.uncertain.read`. */
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
                            calls: {
                                correlation_id: string;
                                tenant: string;
                                agent: string;
                                tool: string;
                                lost_at: string;
                                why: string | null;
                                looks: number;
                                /** @enum {string} */
                                waits_for: "probe" | "person";
                            }[];
                            more: boolean;
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
    "/uncertain/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.uncertain.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
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
                            correlation_id: string;
                            tenant: string;
                            agent: string;
                            tool: string;
                            lost_at: string;
                            why: string | null;
                            looks: number;
                            /** @enum {string} */
                            waits_for: "probe" | "person" | "nothing";
                            /** @enum {string} */
                            state: "decided" | "denied" | "allowed" | "parked" | "approved" | "intended" | "completed" | "uncertain" | "not_run" | "expired" | "abandoned" | "aborted" | "tampered";
                            idempotency_id: string | null;
                            arguments: components["schemas"]["Json"];
                            evidence: {
                                at: string;
                                probe: string;
                                /** @enum {string} */
                                said: "completed" | "not_run" | "not_run_too_early" | "nothing" | "both" | "unreachable" | "invalid" | "refused";
                                detail: string | null;
                                answer_sha256: string | null;
                            }[];
                            settled: {
                                /** @enum {string} */
                                by: "probe" | "person";
                                at: string;
                                decided_by: string;
                                reason: string;
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
    "/uncertain/{correlation_id}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `proxy.uncertain.settle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    correlation_id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        outcome: "completed" | "not_run";
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
                            correlation_id: string;
                            tenant: string;
                            agent: string;
                            tool: string;
                            lost_at: string;
                            why: string | null;
                            looks: number;
                            /** @enum {string} */
                            waits_for: "probe" | "person" | "nothing";
                            /** @enum {string} */
                            state: "decided" | "denied" | "allowed" | "parked" | "approved" | "intended" | "completed" | "uncertain" | "not_run" | "expired" | "abandoned" | "aborted" | "tampered";
                            idempotency_id: string | null;
                            arguments: components["schemas"]["Json"];
                            evidence: {
                                at: string;
                                probe: string;
                                /** @enum {string} */
                                said: "completed" | "not_run" | "not_run_too_early" | "nothing" | "both" | "unreachable" | "invalid" | "refused";
                                detail: string | null;
                                answer_sha256: string | null;
                            }[];
                            settled: {
                                /** @enum {string} */
                                by: "probe" | "person";
                                at: string;
                                decided_by: string;
                                reason: string;
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
    "/spend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.spend.read`. */
        get: {
            parameters: {
                query?: {
                    month?: string;
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
                            tenant: string;
                            month: string;
                            spent_micros: number;
                            reserved_micros: number;
                            agents: {
                                agent_name: string;
                                spent_micros: number;
                                reserved_micros: number;
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
    "/standing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `proxy.standing.read`. */
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
                            worker: {
                                ok: boolean;
                                words: string;
                            };
                            upstreams: {
                                ok: boolean;
                                words: string;
                                partly?: boolean;
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

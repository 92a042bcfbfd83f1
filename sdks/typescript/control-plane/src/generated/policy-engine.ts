// Made from docs/openapi/policy-engine.json by `npm run types`.
export interface paths {
    "/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.evaluate`. */
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
                        tool_type: string;
                        agent_history: {
                            last_tool: string | null;
                            recent_sequence: {
                                tool: string;
                                method: string;
                                ts_ms: number;
                                replica: string;
                            }[];
                            sensitive_steps?: {
                                tool: string;
                                method: string;
                                ts_ms: number;
                                replica: string;
                            }[];
                        };
                        intent_score: number;
                        agent_id?: string | null;
                        agent_kind?: string;
                        correlation_id?: string | null;
                        method?: string | null;
                        arguments?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        request_share?: number;
                        current_time?: string;
                        recent_request_count?: number;
                        velocity_degraded?: boolean;
                        velocity_limit?: number;
                        force_hil?: boolean;
                        decoy?: {
                            /** @enum {string} */
                            kind: "tool" | "value";
                        } | null;
                        request_cost_micros?: number;
                        cumulative_spend_micros?: number;
                        budget_micros?: number;
                        agent_spiffe?: string | null;
                        tenant?: string | null;
                        persona_drift_score?: number;
                        drift?: {
                            available: boolean;
                            score: number;
                            reasons: string[];
                            kinds: string[];
                        };
                        injection_detected?: boolean;
                        injection_suspicions?: string[];
                        injected_at?: {
                            at: string;
                            call?: number;
                        }[];
                        intent_suspicions?: string[];
                        brain_degraded?: boolean;
                        taint?: {
                            from: string;
                            tool: string;
                            /** @enum {string} */
                            lost?: "too_many_answers" | "too_large" | "unreadable" | "arguments" | "too_many_values";
                            field: string | null;
                            argument: string;
                            /** @enum {string} */
                            kind: "mail" | "url" | "host" | "account" | "phone" | "number" | "name" | "text";
                            call?: number;
                        }[];
                        grant?: {
                            act_sub: string;
                            idp: string;
                            scope: string[];
                            yellow_scope: string[];
                        } | null;
                        actor?: {
                            sub: string;
                            trust_domain: string;
                            tenant?: string;
                            agent?: string;
                        } | null;
                        attestation?: {
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
                        } | null;
                        upstream?: string;
                        tool_classes?: {
                            [key: string]: {
                                /** @enum {string} */
                                class?: "read" | "change" | "review" | "strict" | "deny";
                                /** @enum {string} */
                                suspended?: "definition_changed" | "definition_not_seen" | "not_listed" | "unreadable";
                            };
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
                            allow: boolean;
                            reasons: string[];
                            review_reasons: string[];
                            retention_class: string | null;
                            approval_tier: string | null;
                            policy_bundle: {
                                /** @enum {number} */
                                schema_version: 1;
                                version: string;
                                hash_sha256: string;
                                policy_count: number;
                            };
                            forensic_event?: {
                                [key: string]: components["schemas"]["Json"];
                            };
                            sensitive_tools?: string[];
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
    "/evaluate-egress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.evaluate`. */
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
                        entities: string[];
                        tool_type?: string;
                        method?: string;
                        agent_id?: string;
                        tenant?: string | null;
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
                            actions: {
                                [key: string]: "allow" | "mark" | "sanitize" | "deny";
                            };
                            /** @enum {string} */
                            default_action: "allow" | "mark" | "sanitize" | "deny";
                            policy_bundle: {
                                /** @enum {number} */
                                schema_version: 1;
                                version: string;
                                hash_sha256: string;
                                policy_count: number;
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
    "/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    include_deleted?: "true" | "false";
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
                            bundle: {
                                /** @enum {number} */
                                schema_version: 1;
                                version: string;
                                hash_sha256: string;
                                policy_count: number;
                            };
                            origin: {
                                directory: string;
                                loaded_at: string;
                                wasm_sha256: string;
                                opa_version: string;
                                entrypoints: string[];
                            };
                            policies: {
                                name: string;
                                /** @enum {string} */
                                content_type: "rego" | "json";
                                active: boolean;
                                protected: boolean;
                                as_shipped: boolean;
                                current_version: number;
                                summary: string | null;
                                tier: string | null;
                                package: string | null;
                                body_sha256: string;
                                bytes: number;
                                rules: {
                                    rule: string;
                                    line: number;
                                    title: string | null;
                                    description: string | null;
                                    reason: string | null;
                                }[];
                                tenant: string | null;
                                domain: string | null;
                                severity: ("low" | "medium" | "high" | "critical") | null;
                                frameworks: string[];
                                tags: string[];
                                tool_surface: string[];
                                deleted_at: string | null;
                                created_at: string | null;
                                updated_at: string | null;
                                tampered?: string;
                            }[];
                            /** @default null */
                            not_in_force: string | null;
                            /** @default null */
                            takes_no_change: string | null;
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
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        name: string;
                        /** @enum {string} */
                        content_type: "rego" | "json";
                        body: string;
                        /** @default true */
                        active?: boolean;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/standing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
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
                            /** @default null */
                            not_in_force: string | null;
                            /** @default null */
                            takes_no_change: string | null;
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
    "/policies/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
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
                            name: string;
                            /** @enum {string} */
                            content_type: "rego" | "json";
                            active: boolean;
                            protected: boolean;
                            as_shipped: boolean;
                            current_version: number;
                            summary: string | null;
                            tier: string | null;
                            package: string | null;
                            body_sha256: string;
                            bytes: number;
                            rules: {
                                rule: string;
                                line: number;
                                title: string | null;
                                description: string | null;
                                reason: string | null;
                            }[];
                            tenant: string | null;
                            domain: string | null;
                            severity: ("low" | "medium" | "high" | "critical") | null;
                            frameworks: string[];
                            tags: string[];
                            tool_surface: string[];
                            deleted_at: string | null;
                            created_at: string | null;
                            updated_at: string | null;
                            tampered?: string;
                            current_body: string;
                            current_body_sha256: string;
                            /** @default null */
                            not_in_force: string | null;
                            /** @default null */
                            takes_no_change: string | null;
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
        /** @description Capability `policy.manage`. */
        put: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        body: string;
                        expected_current_version: number;
                        expected_body_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
        post?: never;
        /** @description Capability `policy.manage`. */
        delete: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        expected_current_version: number;
                        expected_body_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
                        expected_back_sha256?: string | null;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/{name}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
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
                            versions: ({
                                name: string;
                                version: number;
                                body: string;
                                body_sha256: string;
                                active: boolean;
                                reason: string;
                                actor_sub: string;
                                actor_idp: string;
                                event_kind: ("policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template") | null;
                                chain_seq: number | null;
                                created_at: string;
                            } | {
                                name: string;
                                version: number;
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
    "/policies/{name}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                    version: number;
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
                            name: string;
                            version: number;
                            body: string;
                            body_sha256: string;
                            active: boolean;
                            reason: string;
                            actor_sub: string;
                            actor_idp: string;
                            event_kind: ("policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template") | null;
                            chain_seq: number | null;
                            created_at: string;
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
    "/policies/{name}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query: {
                    tenant?: string;
                    from: number;
                    to: number;
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
                            name: string;
                            from: number;
                            to: number;
                            diff: string;
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
    "/policies/{name}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        expected_current_version: number;
                        expected_body_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/{name}/deactivate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        expected_current_version: number;
                        expected_body_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/{name}/rollback/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string;
                    version: number;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        expected_current_version?: number;
                        expected_body_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        changes: ({
                            /** @enum {string} */
                            what: "create";
                            name: string;
                            /** @enum {string} */
                            content_type: "rego" | "json";
                            body: string;
                            /** @default true */
                            active?: boolean;
                        } | {
                            /** @enum {string} */
                            what: "update";
                            body: string;
                            name: string;
                            expected_current_version: number;
                            expected_body_sha256?: string;
                        } | {
                            /** @enum {string} */
                            what: "activate";
                            name: string;
                            expected_current_version: number;
                            expected_body_sha256?: string;
                        } | {
                            /** @enum {string} */
                            what: "deactivate";
                            name: string;
                            expected_current_version: number;
                            expected_body_sha256?: string;
                        } | {
                            /** @enum {string} */
                            what: "delete";
                            name: string;
                            expected_current_version: number;
                            expected_body_sha256?: string;
                            expected_back_sha256?: string | null;
                        })[];
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            results: {
                                name: string;
                                version: number;
                                body_sha256: string;
                                current_version: number;
                                active: boolean;
                                /** @enum {string} */
                                event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            }[];
                            warnings?: string[];
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
    "/policies/categories/{domain}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    domain: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            changed: number;
                            skipped: number;
                            results: {
                                name: string;
                                version: number;
                                body_sha256: string;
                                current_version: number;
                                active: boolean;
                                /** @enum {string} */
                                event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            }[];
                            warnings?: string[];
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
    "/policies/categories/{domain}/deactivate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    domain: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            changed: number;
                            skipped: number;
                            results: {
                                name: string;
                                version: number;
                                body_sha256: string;
                                current_version: number;
                                active: boolean;
                                /** @enum {string} */
                                event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            }[];
                            warnings?: string[];
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
    "/policies/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.validate`. */
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
                        name: string;
                        /** @enum {string} */
                        content_type: "rego" | "json";
                        body: string;
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
                            ok: boolean;
                            error?: {
                                message: string;
                                line?: number;
                                column?: number;
                                pointer?: string;
                            };
                            formatted?: string;
                            warnings?: string[];
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
    "/policies/evaluate-batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.batch.evaluate`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        candidate_rego: string;
                        candidate_name: string;
                        /**
                         * @default add
                         * @enum {string}
                         */
                        mode?: "add" | "replace";
                        replace_rule_name?: string;
                        inputs: ({
                            tool_type: string;
                            agent_history: {
                                last_tool: string | null;
                                recent_sequence: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                                sensitive_steps?: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                            };
                            intent_score: number;
                            agent_id?: string | null;
                            agent_kind?: string;
                            correlation_id?: string | null;
                            method?: string | null;
                            arguments?: {
                                [key: string]: components["schemas"]["JsonInput"];
                            };
                            request_share?: number;
                            current_time?: string;
                            recent_request_count?: number;
                            velocity_degraded?: boolean;
                            velocity_limit?: number;
                            force_hil?: boolean;
                            decoy?: {
                                /** @enum {string} */
                                kind: "tool" | "value";
                            } | null;
                            request_cost_micros?: number;
                            cumulative_spend_micros?: number;
                            budget_micros?: number;
                            agent_spiffe?: string | null;
                            tenant?: string | null;
                            persona_drift_score?: number;
                            drift?: {
                                available: boolean;
                                score: number;
                                reasons: string[];
                                kinds: string[];
                            };
                            injection_detected?: boolean;
                            injection_suspicions?: string[];
                            injected_at?: {
                                at: string;
                                call?: number;
                            }[];
                            intent_suspicions?: string[];
                            brain_degraded?: boolean;
                            taint?: {
                                from: string;
                                tool: string;
                                /** @enum {string} */
                                lost?: "too_many_answers" | "too_large" | "unreadable" | "arguments" | "too_many_values";
                                field: string | null;
                                argument: string;
                                /** @enum {string} */
                                kind: "mail" | "url" | "host" | "account" | "phone" | "number" | "name" | "text";
                                call?: number;
                            }[];
                            grant?: {
                                act_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                            } | null;
                            actor?: {
                                sub: string;
                                trust_domain: string;
                                tenant?: string;
                                agent?: string;
                            } | null;
                            attestation?: {
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
                            } | null;
                            upstream?: string;
                            tool_classes?: {
                                [key: string]: {
                                    /** @enum {string} */
                                    class?: "read" | "change" | "review" | "strict" | "deny";
                                    /** @enum {string} */
                                    suspended?: "definition_changed" | "definition_not_seen" | "not_listed" | "unreadable";
                                };
                            };
                        } & {
                            [key: string]: unknown;
                        })[];
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
                            active_compile_ok: boolean;
                            candidate_compile_ok: boolean;
                            compile_error?: {
                                message: string;
                                line?: number;
                                column?: number;
                                pointer?: string;
                            };
                            results: {
                                correlation_id?: string | null;
                                input: {
                                    [key: string]: unknown;
                                };
                                before: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                                after: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                                /** @enum {string} */
                                diff: "allow_to_deny" | "allow_to_yellow" | "deny_to_allow" | "deny_to_yellow" | "yellow_to_allow" | "yellow_to_deny" | "unchanged";
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
    "/policies/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
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
                            name: string;
                            /** @enum {string} */
                            content_type: "rego";
                            domain: string;
                            /** @enum {string} */
                            severity: "low" | "medium" | "high" | "critical";
                            frameworks: string[];
                            tags: string[];
                            /** @enum {string} */
                            tier: "deny" | "review" | "mixed";
                            tool_surface: string[];
                            summary: string;
                            installed: boolean;
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
    "/policies/templates/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string & (unknown & unknown);
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
                            name: string;
                            /** @enum {string} */
                            content_type: "rego";
                            domain: string;
                            /** @enum {string} */
                            severity: "low" | "medium" | "high" | "critical";
                            frameworks: string[];
                            tags: string[];
                            /** @enum {string} */
                            tier: "deny" | "review" | "mixed";
                            tool_surface: string[];
                            summary: string;
                            installed: boolean;
                            body: string;
                            body_sha256: string;
                            parameters: {
                                [key: string]: components["schemas"]["Json"];
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
    "/policies/templates/{name}/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string & (unknown & unknown);
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        parameters?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        expected_document_version?: number | null;
                        expected_document_sha256?: string;
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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
    "/policies/templates/{name}/lab": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path: {
                    name: string & (unknown & unknown);
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        parameters?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        /**
                         * @default add
                         * @enum {string}
                         */
                        mode?: "add" | "replace";
                        replace_rule_name?: string;
                        inputs: ({
                            tool_type: string;
                            agent_history: {
                                last_tool: string | null;
                                recent_sequence: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                                sensitive_steps?: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                            };
                            intent_score: number;
                            agent_id?: string | null;
                            agent_kind?: string;
                            correlation_id?: string | null;
                            method?: string | null;
                            arguments?: {
                                [key: string]: components["schemas"]["JsonInput"];
                            };
                            request_share?: number;
                            current_time?: string;
                            recent_request_count?: number;
                            velocity_degraded?: boolean;
                            velocity_limit?: number;
                            force_hil?: boolean;
                            decoy?: {
                                /** @enum {string} */
                                kind: "tool" | "value";
                            } | null;
                            request_cost_micros?: number;
                            cumulative_spend_micros?: number;
                            budget_micros?: number;
                            agent_spiffe?: string | null;
                            tenant?: string | null;
                            persona_drift_score?: number;
                            drift?: {
                                available: boolean;
                                score: number;
                                reasons: string[];
                                kinds: string[];
                            };
                            injection_detected?: boolean;
                            injection_suspicions?: string[];
                            injected_at?: {
                                at: string;
                                call?: number;
                            }[];
                            intent_suspicions?: string[];
                            brain_degraded?: boolean;
                            taint?: {
                                from: string;
                                tool: string;
                                /** @enum {string} */
                                lost?: "too_many_answers" | "too_large" | "unreadable" | "arguments" | "too_many_values";
                                field: string | null;
                                argument: string;
                                /** @enum {string} */
                                kind: "mail" | "url" | "host" | "account" | "phone" | "number" | "name" | "text";
                                call?: number;
                            }[];
                            grant?: {
                                act_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                            } | null;
                            actor?: {
                                sub: string;
                                trust_domain: string;
                                tenant?: string;
                                agent?: string;
                            } | null;
                            attestation?: {
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
                            } | null;
                            upstream?: string;
                            tool_classes?: {
                                [key: string]: {
                                    /** @enum {string} */
                                    class?: "read" | "change" | "review" | "strict" | "deny";
                                    /** @enum {string} */
                                    suspended?: "definition_changed" | "definition_not_seen" | "not_listed" | "unreadable";
                                };
                            };
                        } & {
                            [key: string]: unknown;
                        })[];
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
                            active_compile_ok: boolean;
                            candidate_compile_ok: boolean;
                            compile_error?: {
                                message: string;
                                line?: number;
                                column?: number;
                                pointer?: string;
                            };
                            results: {
                                correlation_id?: string | null;
                                input: {
                                    [key: string]: unknown;
                                };
                                before: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                                after: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                                /** @enum {string} */
                                diff: "allow_to_deny" | "allow_to_yellow" | "deny_to_allow" | "deny_to_yellow" | "yellow_to_allow" | "yellow_to_deny" | "unchanged";
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
    "/policies/tenant/{prefix}/provision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.tenant.lifecycle`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    prefix: string;
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
                            policies: number;
                            created: number;
                            warnings?: string[];
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
    "/policies/tenant/{prefix}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** @description Capability `policy.tenant.lifecycle`. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    prefix: string;
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
                            removed: number;
                            warnings?: string[];
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
    "/admin/tenants/{tenant}/lifecycle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.tenant.saga`. */
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
                        /** Format: lowercase */
                        operation_id: string & (unknown & unknown);
                        /** @enum {string} */
                        kind: "provision" | "offboard";
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
                            operation_id: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            /** @enum {string} */
                            state: "active" | "offboarded";
                            generation: number;
                            policies: number;
                            /** Format: date-time */
                            updated_at: string;
                            receipt_sha256: string;
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
    "/tenant-steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.tenant.saga`. */
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
                            operation_id: string;
                            /** @enum {string} */
                            kind: "provision" | "offboard";
                            /** @enum {string} */
                            state: "active" | "offboarded";
                            generation: number;
                            policies: number;
                            /** Format: date-time */
                            updated_at: string;
                            receipt_sha256: string;
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
    "/policies/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.batch.evaluate`. */
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
                        input: {
                            tool_type: string;
                            agent_history: {
                                last_tool: string | null;
                                recent_sequence: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                                sensitive_steps?: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                            };
                            intent_score: number;
                            agent_id?: string | null;
                            agent_kind?: string;
                            correlation_id?: string | null;
                            method?: string | null;
                            arguments?: {
                                [key: string]: components["schemas"]["JsonInput"];
                            };
                            request_share?: number;
                            current_time?: string;
                            recent_request_count?: number;
                            velocity_degraded?: boolean;
                            velocity_limit?: number;
                            force_hil?: boolean;
                            decoy?: {
                                /** @enum {string} */
                                kind: "tool" | "value";
                            } | null;
                            request_cost_micros?: number;
                            cumulative_spend_micros?: number;
                            budget_micros?: number;
                            agent_spiffe?: string | null;
                            tenant?: string | null;
                            persona_drift_score?: number;
                            drift?: {
                                available: boolean;
                                score: number;
                                reasons: string[];
                                kinds: string[];
                            };
                            injection_detected?: boolean;
                            injection_suspicions?: string[];
                            injected_at?: {
                                at: string;
                                call?: number;
                            }[];
                            intent_suspicions?: string[];
                            brain_degraded?: boolean;
                            taint?: {
                                from: string;
                                tool: string;
                                /** @enum {string} */
                                lost?: "too_many_answers" | "too_large" | "unreadable" | "arguments" | "too_many_values";
                                field: string | null;
                                argument: string;
                                /** @enum {string} */
                                kind: "mail" | "url" | "host" | "account" | "phone" | "number" | "name" | "text";
                                call?: number;
                            }[];
                            grant?: {
                                act_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                            } | null;
                            actor?: {
                                sub: string;
                                trust_domain: string;
                                tenant?: string;
                                agent?: string;
                            } | null;
                            attestation?: {
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
                            } | null;
                            upstream?: string;
                            tool_classes?: {
                                [key: string]: {
                                    /** @enum {string} */
                                    class?: "read" | "change" | "review" | "strict" | "deny";
                                    /** @enum {string} */
                                    suspended?: "definition_changed" | "definition_not_seen" | "not_listed" | "unreadable";
                                };
                            };
                        } & {
                            [key: string]: unknown;
                        };
                        decision: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        /** @default null */
                        request?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        /** @default null */
                        verdict?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        /** @default null */
                        inspection?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
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
                            policy_bundle: {
                                /** @enum {number} */
                                schema_version: 1;
                                version: string;
                                hash_sha256: string;
                                policy_count: number;
                            };
                            compared: number;
                            differences: number;
                            difference: {
                                at: string;
                                recorded: string;
                                now: string;
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
    "/policies/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.batch.evaluate`. */
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
                        input: {
                            tool_type: string;
                            agent_history: {
                                last_tool: string | null;
                                recent_sequence: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                                sensitive_steps?: {
                                    tool: string;
                                    method: string;
                                    ts_ms: number;
                                    replica: string;
                                }[];
                            };
                            intent_score: number;
                            agent_id?: string | null;
                            agent_kind?: string;
                            correlation_id?: string | null;
                            method?: string | null;
                            arguments?: {
                                [key: string]: components["schemas"]["JsonInput"];
                            };
                            request_share?: number;
                            current_time?: string;
                            recent_request_count?: number;
                            velocity_degraded?: boolean;
                            velocity_limit?: number;
                            force_hil?: boolean;
                            decoy?: {
                                /** @enum {string} */
                                kind: "tool" | "value";
                            } | null;
                            request_cost_micros?: number;
                            cumulative_spend_micros?: number;
                            budget_micros?: number;
                            agent_spiffe?: string | null;
                            tenant?: string | null;
                            persona_drift_score?: number;
                            drift?: {
                                available: boolean;
                                score: number;
                                reasons: string[];
                                kinds: string[];
                            };
                            injection_detected?: boolean;
                            injection_suspicions?: string[];
                            injected_at?: {
                                at: string;
                                call?: number;
                            }[];
                            intent_suspicions?: string[];
                            brain_degraded?: boolean;
                            taint?: {
                                from: string;
                                tool: string;
                                /** @enum {string} */
                                lost?: "too_many_answers" | "too_large" | "unreadable" | "arguments" | "too_many_values";
                                field: string | null;
                                argument: string;
                                /** @enum {string} */
                                kind: "mail" | "url" | "host" | "account" | "phone" | "number" | "name" | "text";
                                call?: number;
                            }[];
                            grant?: {
                                act_sub: string;
                                idp: string;
                                scope: string[];
                                yellow_scope: string[];
                            } | null;
                            actor?: {
                                sub: string;
                                trust_domain: string;
                                tenant?: string;
                                agent?: string;
                            } | null;
                            attestation?: {
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
                            } | null;
                            upstream?: string;
                            tool_classes?: {
                                [key: string]: {
                                    /** @enum {string} */
                                    class?: "read" | "change" | "review" | "strict" | "deny";
                                    /** @enum {string} */
                                    suspended?: "definition_changed" | "definition_not_seen" | "not_listed" | "unreadable";
                                };
                            };
                        } & {
                            [key: string]: unknown;
                        };
                        decision: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        /** @default null */
                        request?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        /** @default null */
                        verdict?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        /** @default null */
                        inspection?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
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
                            tier: "green" | "yellow" | "red";
                            /** @enum {string} */
                            rules: "then" | "now";
                            policy_bundle: {
                                /** @enum {number} */
                                schema_version: 1;
                                version: string;
                                hash_sha256: string;
                                policy_count: number;
                            };
                            spoke: {
                                /** @enum {string} */
                                effect: "denies" | "asks";
                                reason: string;
                                rule: {
                                    file: string;
                                    rule: string;
                                    line: number;
                                    title: string | null;
                                } | null;
                                facts: string[];
                            }[];
                            changes: {
                                /** @enum {string} */
                                tier: "green" | "yellow" | "red";
                                facts: {
                                    name: string;
                                    /** @enum {string} */
                                    whose: "call" | "agent" | "time" | "operator" | "inspection";
                                    from?: components["schemas"]["Json"];
                                    to?: components["schemas"]["Json"];
                                }[];
                            }[];
                            tried: number;
                            complete: boolean;
                            text: string;
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
    "/policies/lab": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.batch.evaluate`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        files: {
                            name: string;
                            /** @enum {string} */
                            content_type: "rego" | "json";
                            body: string;
                        }[];
                        /** @default [] */
                        without?: string[];
                        since: string;
                        until?: string;
                        agent_id?: string;
                        tool_type?: string;
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
                        "application/x-ndjson": string;
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
    "/policies/mine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.mine`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        since: string;
                        until?: string;
                        tool_type?: string;
                        /** @default 20 */
                        max_candidates?: number;
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
                        "application/x-ndjson": string;
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
    "/policies/suggestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `policy.mine`. */
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
                            suggestions: {
                                since: string;
                                until: string;
                                evidence: {
                                    approvals: {
                                        passed: number;
                                        of: number;
                                    };
                                    denials: {
                                        passed: number;
                                        of: number;
                                    };
                                    class_alone: {
                                        approvals: number;
                                        denials: number;
                                    };
                                    days: number;
                                    approvers: number;
                                    agents: number;
                                };
                                parts: {
                                    upstream: string | null;
                                    agents: string[];
                                    approvals: number;
                                    objects: {
                                        pointer: string;
                                        names: string[];
                                    }[];
                                    arguments: {
                                        pointer: string;
                                        is: {
                                            equals: components["schemas"]["Json"];
                                        } | {
                                            one_of: components["schemas"]["Json"][];
                                        } | {
                                            like: string;
                                        } | {
                                            from: number;
                                            to: number;
                                            whole: boolean;
                                            text: boolean;
                                            decimals: number;
                                        };
                                    }[];
                                }[];
                                examples: {
                                    waits: {
                                        correlation_id: string | null;
                                        at: string;
                                        agent_id: string;
                                    }[];
                                    denied: {
                                        correlation_id: string | null;
                                        at: string;
                                        agent_id: string;
                                    }[];
                                };
                                explained?: {
                                    one_liner: string;
                                    rationale: string;
                                    model: string;
                                };
                                id: string;
                                tenant: string;
                                tool: string;
                                rule_name: string;
                                /** @enum {string} */
                                state: "proposed" | "unchecked" | "withdrawn" | "installed";
                                state_why: string | null;
                                in_force: boolean;
                                one_liner: string;
                                next_step: string;
                                rego_body: string;
                                body_sha256: string;
                                proposed_at: string;
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
    "/policies/suggestions/{id}/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `policy.manage`. */
        post: {
            parameters: {
                query: {
                    tenant: string;
                };
                header?: never;
                path: {
                    id: string & (unknown & unknown);
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": {
                        reason: string;
                        actor_sub: string;
                        actor_idp: string;
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
                            name: string;
                            version: number;
                            body_sha256: string;
                            current_version: number;
                            active: boolean;
                            /** @enum {string} */
                            event_kind: "policy.created" | "policy.updated" | "policy.activated" | "policy.deactivated" | "policy.deleted" | "policy.installed_from_template";
                            warnings?: string[];
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

// Made from docs/openapi/ledger.json by `npm run types`.
export interface paths {
    "/finops/active-agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.active-agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    as_of?: string;
                    observed_through?: string;
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
                            /** @enum {string} */
                            contract: "gate.active-agent-meter/v1";
                            /** @enum {string} */
                            meter_version: "1.0.0";
                            tenant: string;
                            window: {
                                /** @enum {string} */
                                kind: "rolling";
                                /** @enum {number} */
                                days: 30;
                                from: string;
                                to: string;
                            };
                            observed_through: string;
                            finalization: {
                                /** @enum {number} */
                                late_event_grace_hours: 72;
                                final_at: string;
                                /** @enum {string} */
                                status: "preliminary" | "final";
                            };
                            agents: {
                                agent_key: string;
                                qualified_events: number;
                                late_events: number;
                                first_qualified_at: string;
                                last_qualified_at: string;
                                source_commitment: string;
                            }[];
                            base_active_agents: number;
                            net_active_agents: number;
                            adjustments: {
                                idempotency_key: string;
                                /** @enum {string} */
                                kind: "credit" | "correction";
                                units_delta: number;
                                agent_key: string | null;
                                reason: string;
                                recorded_at: string;
                                source_entry_id: string;
                                source_entry_hash: string;
                            }[];
                            source: {
                                /** @enum {string} */
                                qualification: "authorized tool execution by exact tenant-qualified agent";
                                /** @enum {string} */
                                deduplication: "tenant+agent+stable-stage-identity";
                                qualified_event_count: number;
                                late_event_count: number;
                                event_commitment: string;
                                adjustment_commitment: string;
                                chain_length: number;
                                chain_head: string;
                            };
                            invoice_sha256: string;
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
    "/finops/active-agents/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.active-agent.read`. */
        get: {
            parameters: {
                query: {
                    tenant: string;
                    as_of?: string;
                    observed_through?: string;
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
                            /** @enum {string} */
                            contract: "gate.active-agent-meter/v1";
                            /** @enum {string} */
                            meter_version: "1.0.0";
                            tenant: string;
                            window: {
                                /** @enum {string} */
                                kind: "rolling";
                                /** @enum {number} */
                                days: 30;
                                from: string;
                                to: string;
                            };
                            observed_through: string;
                            finalization: {
                                /** @enum {number} */
                                late_event_grace_hours: 72;
                                final_at: string;
                                /** @enum {string} */
                                status: "preliminary" | "final";
                            };
                            agents: {
                                agent_key: string;
                                qualified_events: number;
                                late_events: number;
                                first_qualified_at: string;
                                last_qualified_at: string;
                                source_commitment: string;
                            }[];
                            base_active_agents: number;
                            net_active_agents: number;
                            adjustments: {
                                idempotency_key: string;
                                /** @enum {string} */
                                kind: "credit" | "correction";
                                units_delta: number;
                                agent_key: string | null;
                                reason: string;
                                recorded_at: string;
                                source_entry_id: string;
                                source_entry_hash: string;
                            }[];
                            source: {
                                /** @enum {string} */
                                qualification: "authorized tool execution by exact tenant-qualified agent";
                                /** @enum {string} */
                                deduplication: "tenant+agent+stable-stage-identity";
                                qualified_event_count: number;
                                late_event_count: number;
                                event_commitment: string;
                                adjustment_commitment: string;
                                chain_length: number;
                                chain_head: string;
                            };
                            invoice_sha256: string;
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
    "/finops/active-agents/adjustments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.active-agent.adjust`. */
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
                        contract: "gate.active-agent-adjustment/v1";
                        /** @enum {string} */
                        meter_version: "1.0.0";
                        tenant: string;
                        target_as_of: string;
                        idempotency_key: string & (unknown & unknown);
                        /** @enum {string} */
                        kind: "credit" | "correction";
                        units_delta: number;
                        agent_key: string | null;
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
                            retained: boolean;
                            adjustment_sha256: string;
                            entry_id: string;
                            entry_seq: number;
                            entry_hash: string;
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
                            retained: boolean;
                            adjustment_sha256: string;
                            entry_id: string;
                            entry_seq: number;
                            entry_hash: string;
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
    "/analysis/agent-behavioral-baseline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query: {
                    tenant?: string;
                    demo_session_token?: string;
                    agent_id: string;
                    baseline_days?: number;
                    recent_days?: number;
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
                            agent_id: string;
                            baseline_days: number;
                            recent_days: number;
                            baseline: {
                                since: string;
                                until: string;
                                total: number;
                                authorized: number;
                                denied: number;
                                deny_rate: number;
                                intent_mean: number | null;
                                tool_mix: {
                                    tool_type: string;
                                    count: number;
                                }[];
                                hourly: number[];
                            };
                            recent: {
                                since: string;
                                until: string;
                                total: number;
                                authorized: number;
                                denied: number;
                                deny_rate: number;
                                intent_mean: number | null;
                                tool_mix: {
                                    tool_type: string;
                                    count: number;
                                }[];
                                hourly: number[];
                            };
                            deviation: {
                                tool_mix: number;
                                hourly: number;
                                intent: number;
                                deny_rate: number;
                                overall: number;
                            };
                            diff: {
                                new_tools: string[];
                                vanished_tools: string[];
                                deny_rate_delta: number;
                                intent_delta: number;
                                total_delta: number;
                            };
                            drifted: boolean;
                            insufficient: boolean;
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
    "/analysis/fleet-behavioral-diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    baseline_days?: number;
                    recent_days?: number;
                    limit?: number;
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
                            baseline_days: number;
                            recent_days: number;
                            since_baseline: string;
                            since_recent: string;
                            now: string;
                            agents: {
                                agent_id: string;
                                recent_total: number;
                                baseline_total: number;
                                new_tools: string[];
                                vanished_tools: string[];
                                deny_rate_delta: number;
                                intent_delta: number;
                                total_delta: number;
                                drift_overall: number;
                                drifted: boolean;
                                insufficient: boolean;
                            }[];
                            agents_total: number;
                            insufficient_total: number;
                            returned: number;
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
    "/analysis/agent-envelope-recommendations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query: {
                    tenant?: string;
                    demo_session_token?: string;
                    agent_id: string;
                    window_days?: number;
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
                            agent_id: string;
                            window_days: number;
                            since: string;
                            until: string;
                            total_calls: number;
                            used_tools: {
                                tool_type: string;
                                used_count: number;
                                /** @enum {string} */
                                confidence: "high" | "medium" | "low";
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
    "/analysis/model-upgrade-canary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query?: {
                    window_hours?: number;
                    cutover?: string;
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
                            cutover: string;
                            window_hours: number;
                            before: {
                                since: string;
                                until: string;
                                total: number;
                                authorized: number;
                                denied: number;
                                deny_rate: number;
                                intent_mean: number | null;
                                signal_mix: {
                                    signal: string;
                                    count: number;
                                }[];
                                models: {
                                    brain_version: string;
                                    mock_mode: boolean;
                                    provider_models: {
                                        [key: string]: string;
                                    };
                                    observed: number;
                                }[];
                                models_sampled: number;
                            };
                            after: {
                                since: string;
                                until: string;
                                total: number;
                                authorized: number;
                                denied: number;
                                deny_rate: number;
                                intent_mean: number | null;
                                signal_mix: {
                                    signal: string;
                                    count: number;
                                }[];
                                models: {
                                    brain_version: string;
                                    mock_mode: boolean;
                                    provider_models: {
                                        [key: string]: string;
                                    };
                                    observed: number;
                                }[];
                                models_sampled: number;
                            };
                            deltas: {
                                deny_rate_delta: number;
                                intent_mean_delta: number;
                                total_delta: number;
                                new_signals: string[];
                                vanished_signals: string[];
                            };
                            model_changed: boolean;
                            insufficient: boolean;
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
    "/analysis/silent-agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    since_hours?: number;
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
                            threshold_hours: number;
                            generated_at: string;
                            silent_agents: {
                                agent_name: string;
                                tenant: string | null;
                                last_activity: string | null;
                                enrolled_at: string | null;
                                silent_hours: number;
                                never_active: boolean;
                            }[];
                            active_total: number;
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
    "/analysis/agent-activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.analysis.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    since_hours?: number;
                    limit?: number;
                    agent_id?: string;
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
                            since: string;
                            until: string;
                            agents: {
                                agent_id: string;
                                total: number;
                                allowed: number;
                                denied: number;
                                reviewed: number;
                                denied_by_people: number;
                                last_at: string;
                                last_correlation_id: string | null;
                                tools: {
                                    tool_name: string;
                                    allowed: number;
                                    denied: number;
                                    reviewed: number;
                                    tiers?: {
                                        [key: string]: number[];
                                    };
                                }[];
                                tiers?: {
                                    [key: string]: number[];
                                };
                                tools_total: number;
                                points: {
                                    at: string;
                                    total: number;
                                    denied: number;
                                    reviewed: number;
                                }[];
                            }[];
                            returned: number;
                            agents_total: number;
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
    "/finops/spend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.spend.read`. */
        get: {
            parameters: {
                query?: {
                    window?: string;
                    tenant?: string;
                    limit?: number;
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
                            window: string | null;
                            agents: {
                                agent_id: string;
                                agent_name: string | null;
                                spend_micros: number;
                                request_count: number;
                                priced_count: number;
                                latest_ts: string;
                            }[];
                            total_spend_micros: number;
                            total_requests: number;
                            total_priced: number;
                            returned: number;
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
        /** @description Capability `ledger.audit.read`. */
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
                            agents: string[];
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
    "/audit/correlation/{correlation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                };
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
                        "application/json": ({
                            chain_version: number;
                            id: string;
                            timestamp: string;
                            seq: number;
                            prev_hash: string;
                            entry_hash: string;
                            agent_id: string;
                            method: string;
                            intent_category: string;
                            authorized: boolean;
                            reasoning: string;
                            policy_decision: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            correlation_id: string | null;
                            event_kind: string | null;
                            state_namespace: string;
                            tool_type: string | null;
                            decided_by: string | null;
                            status: string | null;
                        } & {
                            [key: string]: unknown;
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
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit/correlation/{correlation_id}/policy-input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                };
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
                            seq: number | null;
                            input: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            decision: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            request: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            verdict: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            inspection: {
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
    "/audit/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                    before?: number;
                    after?: number;
                    since?: string;
                    from?: string;
                    to?: string;
                    seq_from?: number;
                    seq_to?: number;
                    methods?: string;
                    original_method?: string;
                    reason?: string;
                    verdict?: string;
                    tool?: string;
                    brain_delta?: string;
                    signal?: string;
                    source?: string;
                    limit?: number;
                    offset?: number;
                };
                header?: never;
                path: {
                    agent_id: string;
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
                            chain_version: number;
                            id: string;
                            timestamp: string;
                            seq: number;
                            prev_hash: string;
                            entry_hash: string;
                            agent_id: string;
                            method: string;
                            intent_category: string;
                            authorized: boolean;
                            reasoning: string;
                            policy_decision: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            correlation_id: string | null;
                            event_kind: string | null;
                            state_namespace: string;
                            tool_type: string | null;
                            decided_by: string | null;
                            status: string | null;
                        } & {
                            [key: string]: unknown;
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
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit/agent/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query: {
                    tenant?: string;
                    demo_session_token?: string;
                    before?: number;
                    after?: number;
                    since?: string;
                    from?: string;
                    to?: string;
                    seq_from?: number;
                    seq_to?: number;
                    methods?: string;
                    original_method?: string;
                    reason?: string;
                    verdict?: string;
                    tool?: string;
                    brain_delta?: string;
                    signal?: string;
                    source?: string;
                    limit?: number;
                    offset?: number;
                    agent_id: string;
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
                        "application/json": ({
                            chain_version: number;
                            id: string;
                            timestamp: string;
                            seq: number;
                            prev_hash: string;
                            entry_hash: string;
                            agent_id: string;
                            method: string;
                            intent_category: string;
                            authorized: boolean;
                            reasoning: string;
                            policy_decision: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            correlation_id: string | null;
                            event_kind: string | null;
                            state_namespace: string;
                            tool_type: string | null;
                            decided_by: string | null;
                            status: string | null;
                        } & {
                            [key: string]: unknown;
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
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit/{agent_id}/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                    before?: number;
                    after?: number;
                    since?: string;
                    from?: string;
                    to?: string;
                    seq_from?: number;
                    seq_to?: number;
                    methods?: string;
                    original_method?: string;
                    reason?: string;
                    verdict?: string;
                    tool?: string;
                    brain_delta?: string;
                    signal?: string;
                    source?: string;
                };
                header?: never;
                path: {
                    agent_id: string;
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
                            count: number;
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
    "/audit/agent/{tenant}/{agent_id}/lifecycle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    tenant: string;
                    agent_id: string;
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
                            chain_version: number;
                            id: string;
                            timestamp: string;
                            seq: number;
                            prev_hash: string;
                            entry_hash: string;
                            agent_id: string;
                            method: string;
                            intent_category: string;
                            authorized: boolean;
                            reasoning: string;
                            policy_decision: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            correlation_id: string | null;
                            event_kind: string | null;
                            state_namespace: string;
                            tool_type: string | null;
                            decided_by: string | null;
                            status: string | null;
                            payload: components["schemas"]["Json"];
                        } & {
                            [key: string]: unknown;
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
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit/entry/{entry_id}/masked-params": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                };
                header?: never;
                path: {
                    entry_id: string;
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
                            masked_params: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                            retention_class: string | null;
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
    "/cases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.case.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    status?: "open" | "contained" | "closed";
                    limit?: number;
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
                            tenant?: string;
                            title: string;
                            /** @enum {string} */
                            status: "open" | "contained" | "closed";
                            created_at: string;
                            updated_at: string;
                            agent_ids: string[];
                            correlation_ids: string[];
                            timeline: {
                                at: string;
                                kind: string;
                                actor: string;
                                detail: string;
                            }[];
                            /** @enum {string} */
                            severity?: "serious" | "death" | "critical_infra";
                            regulatory_deadline?: string;
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
        /** @description Capability `ledger.case.manage`. */
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
                        /** Format: uuid */
                        request_id?: string;
                        title: string;
                        agent_ids: string[];
                        correlation_ids: string[];
                        actor?: string;
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
                            tenant?: string;
                            title: string;
                            /** @enum {string} */
                            status: "open" | "contained" | "closed";
                            created_at: string;
                            updated_at: string;
                            agent_ids: string[];
                            correlation_ids: string[];
                            timeline: {
                                at: string;
                                kind: string;
                                actor: string;
                                detail: string;
                            }[];
                            /** @enum {string} */
                            severity?: "serious" | "death" | "critical_infra";
                            regulatory_deadline?: string;
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
    "/cases/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.case.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
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
                            case: {
                                /** Format: uuid */
                                id: string;
                                tenant?: string;
                                title: string;
                                /** @enum {string} */
                                status: "open" | "contained" | "closed";
                                created_at: string;
                                updated_at: string;
                                agent_ids: string[];
                                correlation_ids: string[];
                                timeline: {
                                    at: string;
                                    kind: string;
                                    actor: string;
                                    detail: string;
                                }[];
                                /** @enum {string} */
                                severity?: "serious" | "death" | "critical_infra";
                                regulatory_deadline?: string;
                            };
                            evidence: ({
                                chain_version: number;
                                id: string;
                                timestamp: string;
                                seq: number;
                                prev_hash: string;
                                entry_hash: string;
                                agent_id: string;
                                method: string;
                                intent_category: string;
                                authorized: boolean;
                                reasoning: string;
                                policy_decision: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                correlation_id: string | null;
                                event_kind: string | null;
                                state_namespace: string;
                                tool_type: string | null;
                                decided_by: string | null;
                                status: string | null;
                            } & {
                                [key: string]: unknown;
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
    "/cases/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.case.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
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
                        /** Format: uuid */
                        request_id?: string;
                        /** Format: date-time */
                        at: string;
                        kind: string;
                        actor: string;
                        detail: string;
                    };
                };
            };
            responses: {
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/cases/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.case.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
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
                        status: string;
                        actor?: string;
                    };
                };
            };
            responses: {
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/cases/{id}/classify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.case.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
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
                        severity: string;
                        actor?: string;
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
                            severity: "serious" | "death" | "critical_infra";
                            regulatory_deadline: string;
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
    "/cases/{id}/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.case.manage`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
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
                        agent_ids: string[];
                        correlation_ids: string[];
                        actor?: string;
                    };
                };
            };
            responses: {
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/compliance/evidence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.compliance.evidence`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                    from?: string;
                    to?: string;
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
                            /** @enum {string} */
                            schema_version: "3";
                            generated_at: string;
                            window: {
                                from: string;
                                to: string;
                            };
                            row_count: number;
                            chain_verify: {
                                valid: boolean;
                                entries_checked: number;
                                first_invalid_seq: number | null;
                                /** @enum {string} */
                                cryptographic_status: "verified" | "unavailable" | "invalid";
                                signed_rows: number;
                                nothing_signed: boolean;
                                verified_signed_rows: number;
                                tsa_verified: number;
                                tsa_failed: number;
                            };
                            controls: {
                                control_id: string;
                                framework: string;
                                title: string;
                                /** @enum {string} */
                                status: "observed" | "no_data";
                                metric: {
                                    [key: string]: number | boolean | string | {
                                        [key: string]: number;
                                    };
                                };
                                sample_seqs: number[];
                                narrative: string;
                            }[];
                            disclaimer: string;
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
    "/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.export.create`. */
        post: {
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
                        "application/json": "NothingToExport" | {
                            Wrote: {
                                snapshot_id: string;
                                written_at: string;
                                data_uri: string;
                                manifest_uri: string;
                                data_sha256: string;
                                byte_size: number;
                                row_count: number;
                                seq_lo: number;
                                seq_hi: number;
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
    "/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.export.read`. */
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
                            snapshot_id: string;
                            written_at: string;
                            data_uri: string;
                            manifest_uri: string;
                            data_sha256: string;
                            byte_size: number;
                            row_count: number;
                            seq_lo: number;
                            seq_hi: number;
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
    "/export/iceberg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.export.read`. */
        get: {
            parameters: {
                query?: {
                    from?: string;
                    to?: string;
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
                            /** @enum {string} */
                            contract: "gate.iceberg-export/v1";
                            window: {
                                from: string;
                                to: string;
                            };
                            row_count: number;
                            seq_lo: number | null;
                            seq_hi: number | null;
                            table: {
                                location: string;
                                metadata_uri: string | null;
                                /** @enum {number} */
                                format_version: 2;
                                current_snapshot_id: number | null;
                            };
                            files: {
                                snapshot_id: string;
                                written_at: string;
                                data_uri: string;
                                manifest_uri: string;
                                data_sha256: string;
                                byte_size: number;
                                row_count: number;
                                seq_lo: number;
                                seq_hi: number;
                            }[];
                        };
                        "application/vnd.apache.parquet": string;
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
    "/audit/hunt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                    method?: string;
                    signal?: string;
                    authorized?: string;
                    from?: string;
                    to?: string;
                    limit?: number;
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
                            agents: {
                                agent_id: string;
                                agent_name: string | null;
                                hit_count: number;
                                deny_count: number;
                                worst_signal: string | null;
                                /** @enum {string} */
                                principal: "agent" | "service" | "tenant";
                                latest_hit_ts: string;
                                latest_correlation_id: string | null;
                                methods: string[];
                            }[];
                            returned: number;
                            from: string | null;
                            to: string | null;
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
    "/audit/replay/corpus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query: {
                    since?: string;
                    until?: string;
                    limit: number;
                    agent_id?: string;
                    tool_type?: string;
                    tenant_prefix?: string;
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
                            corpus: {
                                correlation_id: string;
                                captured_at: string;
                                agent_id: string;
                                method: string;
                                input: {
                                    [key: string]: unknown;
                                };
                                historical_verdict: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                            }[];
                            total_in_window: number;
                            returned: number;
                            sampled: boolean;
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
    "/audit/replay/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query: {
                    since?: string;
                    until?: string;
                    after?: number;
                    limit: number;
                    tenant?: string;
                    agent_id?: string;
                    tool_type?: string;
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
                            rows: {
                                seq: number;
                                at: string;
                                correlation_id: string | null;
                                agent_id: string;
                                tool: string | null;
                                input: {
                                    [key: string]: unknown;
                                } | null;
                                request: {
                                    [key: string]: unknown;
                                } | null;
                                decision: {
                                    allow: boolean;
                                    reasons: string[];
                                    review_reasons: string[];
                                };
                                people: ("approved" | "denied" | "expired") | null;
                            }[];
                            next: number | null;
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
    "/audit/replay/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query: {
                    since?: string;
                    until?: string;
                    after?: number;
                    limit: number;
                    tenant: string;
                    tool_type?: string;
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
                            rows: {
                                seq: number;
                                at: string;
                                correlation_id: string | null;
                                agent_id: string;
                                tool: string | null;
                                /** @enum {string} */
                                decided: "approved" | "changed" | "denied";
                                people: string[];
                                input: {
                                    [key: string]: unknown;
                                } | null;
                            }[];
                            next: number | null;
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
    "/audit/agents/{agent_id}/narrative": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                    agent_id?: string;
                    window?: string;
                };
                header?: never;
                path: {
                    agent_id: string;
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
                            agent_id: string;
                            /** @enum {string} */
                            window: "1d" | "7d" | "30d" | "90d";
                            from: string;
                            to: string;
                            generated_at: string;
                            total: number;
                            headline: string;
                            story: {
                                text: string;
                                seqs: number[];
                            }[];
                            sparkline: {
                                /** @enum {string} */
                                bucket: "hour" | "day";
                                points: {
                                    at: string;
                                    total: number;
                                    denied: number;
                                    reviewed: number;
                                }[];
                            };
                            outcomes: {
                                allowed: number;
                                denied: number;
                                reviewed: number;
                                would_deny: number;
                                would_review: number;
                            };
                            executions: {
                                completed: number;
                                failed: number;
                                uncertain: number;
                                not_run: number;
                            };
                            intents: {
                                intent_category: string;
                                count: number;
                                percent: number;
                            }[];
                            tools: {
                                tool_name: string;
                                count: number;
                            }[];
                            signals: {
                                signal: string;
                                count: number;
                            }[];
                            deny_reasons: {
                                reason: string;
                                count: number;
                                sample_reasoning: string;
                                sample_seq: number;
                            }[];
                            hil: {
                                pending: number;
                                approved: number;
                                denied: number;
                                expired: number;
                                changed_then_denied: number;
                                approved_by_rule: number;
                                denied_by_gate: number;
                                withdrawn: number;
                                unreachable: number;
                            };
                            notable: {
                                seq: number;
                                at: string;
                                event_kind: string;
                                summary: string;
                                correlation_id: string | null;
                            }[];
                            deep_review: {
                                findings_7d: number;
                                brain_delta: {
                                    Agreed: number;
                                    Escalated: number;
                                    Downgraded: number;
                                };
                                top_disagreement: {
                                    seq: number;
                                    at: string;
                                    verdict: string | null;
                                    brain_delta: string;
                                    confidence: number;
                                    reasoning: string;
                                    original_correlation_id: string | null;
                                } | null;
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
    "/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.verify`. */
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
                        "text/plain": string;
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
    "/proof/inclusion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.read`. */
        get: {
            parameters: {
                query?: {
                    seq?: number;
                    id?: string;
                    entry_hash?: string;
                    size?: number;
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
                            /** @enum {string} */
                            contract: "gate.inclusion-proof/v1";
                            seq: number;
                            leaf_index: number;
                            entry_hash: string;
                            tree_size: number;
                            proof: string[];
                            checkpoint: string;
                            log_key: string;
                            entry: ({
                                chain_version: number;
                                id: string;
                                timestamp: string;
                                seq: number;
                                prev_hash: string;
                                entry_hash: string;
                                agent_id: string;
                                method: string;
                                intent_category: string;
                                authorized: boolean;
                                reasoning: string;
                                policy_decision: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                correlation_id: string | null;
                                event_kind: string | null;
                                state_namespace: string;
                                tool_type: string | null;
                                decided_by: string | null;
                                status: string | null;
                            } & {
                                [key: string]: unknown;
                            }) | null;
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
    "/proof/consistency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.verify`. */
        get: {
            parameters: {
                query: {
                    from: number;
                    to?: number;
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
                            /** @enum {string} */
                            contract: "gate.consistency-proof/v1";
                            from: number;
                            to: number;
                            from_root: string;
                            to_root: string;
                            proof: string[];
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
    "/silence-allowlist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.silence.read`. */
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
                            entries: {
                                agent_id: string;
                                reason: string;
                                source: string;
                                created_at: string;
                                created_by: string;
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
        /** @description Capability `ledger.silence.manage`. */
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
                        agent_id: string;
                        reason: string;
                        source: string;
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
                            agent_id: string;
                            reason: string;
                            source: string;
                            created_at: string;
                            created_by: string;
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
                            agent_id: string;
                            reason: string;
                            source: string;
                            created_at: string;
                            created_by: string;
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
    "/silence-allowlist/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** @description Capability `ledger.silence.manage`. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    agent_id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
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
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stream/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.audit.stream`. */
        get: {
            parameters: {
                query?: {
                    tenant?: string;
                    demo_session_token?: string;
                };
                header?: {
                    "x-gate-stream-holder"?: string;
                    "last-event-id"?: string;
                };
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
                        "text/event-stream": {
                            id?: string;
                            event?: string;
                            data?: string;
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
    "/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.verify`. */
        get: {
            parameters: {
                query?: {
                    since_checkpoint?: string;
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
                            valid: boolean;
                            entries_checked: number;
                            first_invalid_seq: number | null;
                            unsupported_chain_version?: number;
                            commitment?: {
                                /** @enum {string} */
                                contract: "gate.verified-chain/v1";
                                head_hash: string;
                                length: number;
                                tail_chain_version?: number;
                            };
                            anchors?: {
                                anchored_seq: number;
                                anchored_entry_hash: string;
                                /** @enum {string} */
                                source: "rfc3161" | "webhook" | "identity";
                                /** @enum {string} */
                                status: "pending" | "anchored" | "failed";
                                gen_time: string | null;
                                proof_sha256: string | null;
                                anchored_at: string | null;
                                chain_match: boolean | null;
                            }[];
                            anchor_mismatch: boolean | null;
                            cryptographic_verification: {
                                /** @enum {string} */
                                contract: "gate.cryptographic-verification/v2";
                                /** @enum {string} */
                                status: "verified" | "unavailable" | "invalid";
                                key_set: {
                                    issuer: string;
                                    audience: string | string[];
                                    sequence: number;
                                    generated_at: string;
                                    expires_at: string;
                                    lineage_sha256: string;
                                } | null;
                                signed_rows: number;
                                nothing_signed: boolean;
                                verified_signed_rows: number;
                                unsigned_rows: number;
                                legacy_unverifiable: null;
                                first_failure: {
                                    seq: number | null;
                                    /** @enum {string} */
                                    reason: "key_set_unavailable" | "key_set_stale" | "key_set_rollback" | "key_missing" | "key_retired" | "key_untrusted" | "key_not_yet_active" | "key_substituted" | "signature_malformed" | "signature_forged" | "partial_signature" | "tsa_trust_unavailable" | "tsa_missing" | "tsa_proof_digest_mismatch" | "tsa_response_malformed" | "tsa_signature_invalid" | "tsa_chain_untrusted" | "tsa_imprint_mismatch";
                                } | null;
                                tsa: {
                                    required: boolean;
                                    anchors_observed: number;
                                    rfc3161_observed: number;
                                    verified: number;
                                    failed: number;
                                    trust_bundle_sha256: string | null;
                                    first_failure: {
                                        seq: number | null;
                                        /** @enum {string} */
                                        reason: "key_set_unavailable" | "key_set_stale" | "key_set_rollback" | "key_missing" | "key_retired" | "key_untrusted" | "key_not_yet_active" | "key_substituted" | "signature_malformed" | "signature_forged" | "partial_signature" | "tsa_trust_unavailable" | "tsa_missing" | "tsa_proof_digest_mismatch" | "tsa_response_malformed" | "tsa_signature_invalid" | "tsa_chain_untrusted" | "tsa_imprint_mismatch";
                                    } | null;
                                };
                            };
                        } & {
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
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/egress/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.egress.read`. */
        get: {
            parameters: {
                query: {
                    after: number;
                    limit?: number;
                    sink?: "splunk" | "datadog" | "generic";
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
                            rows: ({
                                chain_version: number;
                                id: string;
                                timestamp: string;
                                seq: number;
                                prev_hash: string;
                                entry_hash: string;
                                agent_id: string;
                                method: string;
                                intent_category: string;
                                authorized: boolean;
                                reasoning: string;
                                policy_decision: {
                                    [key: string]: components["schemas"]["Json"];
                                } | null;
                                correlation_id: string | null;
                                event_kind: string | null;
                                state_namespace: string;
                                tool_type: string | null;
                                decided_by: string | null;
                                status: string | null;
                            } & {
                                [key: string]: unknown;
                            })[];
                            through: number;
                            head: number;
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
    "/admin/tenants/{tenant}/tombstone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.tombstone.execute`. */
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
                        reason?: string;
                    } | null;
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
                            tombstoned: number;
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
    "/admin/tenants/{tenant}/lifecycle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.tenant.read`. */
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
                            operation_id: string;
                            /** @enum {string} */
                            kind: "final_export" | "tombstone" | "lifecycle_marker";
                            /** @enum {string} */
                            state: "exported" | "tombstoned" | "marked";
                            generation: number;
                            rows_affected: number;
                            artifact_sha256: string | null;
                            artifact_bytes: number | null;
                            receipt_sha256: string;
                            updated_at: string;
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
        /** @description Capability `ledger.tenant.lifecycle`. */
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
                        operation_id: string & (unknown & unknown);
                        /** @enum {string} */
                        kind: "final_export" | "tombstone" | "lifecycle_marker";
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
                            kind: "final_export" | "tombstone" | "lifecycle_marker";
                            /** @enum {string} */
                            state: "exported" | "tombstoned" | "marked";
                            generation: number;
                            rows_affected: number;
                            artifact_sha256: string | null;
                            artifact_bytes: number | null;
                            receipt_sha256: string;
                            updated_at: string;
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
        /** @description Capability `ledger.tenant.lifecycle`. */
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
                            kind: "final_export" | "tombstone" | "lifecycle_marker";
                            /** @enum {string} */
                            state: "exported" | "tombstoned" | "marked";
                            generation: number;
                            rows_affected: number;
                            artifact_sha256: string | null;
                            artifact_bytes: number | null;
                            receipt_sha256: string;
                            updated_at: string;
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
    "/admin/namespaces/demo/cleanup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.namespace.cleanup`. */
        post: {
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
                            /** @enum {string} */
                            contract: "gate.namespace-cleanup-receipt/v1";
                            /** @enum {string} */
                            namespace: "demo";
                            selected: number;
                            tombstoned: number;
                            retained_operator: number;
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
    "/log/held": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `ledger.held.read`. */
        get: {
            parameters: {
                query: {
                    ids: string;
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
                            held: string[];
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
    "/checkpoint/cosignatures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.checkpoint.cosign`. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": string;
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
                            tree_size: number;
                            accepted: {
                                witness: string;
                                cosigned_at: number;
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
    "/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.append`. */
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
                        id?: string;
                        timestamp?: string;
                        agent_id: string;
                        method: string;
                        intent_category: string;
                        authorized: boolean;
                        reasoning: string;
                        policy_decision: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        /** @enum {string} */
                        state_namespace: "operator" | "demo";
                        correlation_id?: string | null;
                        event_kind?: string | null;
                        source?: string | null;
                        signal?: string | null;
                        approver_assertion?: string | null;
                        agent_spiffe?: string | null;
                        signature?: string | null;
                        key_id?: string | null;
                        tenant?: string | null;
                        agent_name?: string | null;
                        actor_sub?: string | null;
                        actor_idp?: string | null;
                        payload_sha256?: string | null;
                        agent_kind?: string | null;
                        cost_micros?: number | null;
                        brain_evidence_sha256?: string | null;
                        brain_scores?: {
                            [key: string]: components["schemas"]["JsonInput"];
                        } | null;
                        tool_params_sha256?: string | null;
                        credential_fingerprint?: string | null;
                        upstream_id?: string | null;
                        tool_name?: string | null;
                        payload_canonical_json?: string | null;
                        brain_evidence_canonical_json?: string | null;
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
                            status: "created" | "retained";
                            id: string;
                            seq: number;
                            entry_hash: string;
                            chain_version: number;
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
                            /** @enum {string} */
                            status: "created" | "retained";
                            id: string;
                            seq: number;
                            entry_hash: string;
                            chain_version: number;
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
    "/log/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.append`. */
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
                        rows: {
                            /** Format: uuid */
                            id?: string;
                            timestamp?: string;
                            agent_id: string;
                            method: string;
                            intent_category: string;
                            authorized: boolean;
                            reasoning: string;
                            policy_decision: {
                                [key: string]: components["schemas"]["JsonInput"];
                            } | null;
                            /** @enum {string} */
                            state_namespace: "operator" | "demo";
                            correlation_id?: string | null;
                            event_kind?: string | null;
                            source?: string | null;
                            signal?: string | null;
                            approver_assertion?: string | null;
                            agent_spiffe?: string | null;
                            signature?: string | null;
                            key_id?: string | null;
                            tenant?: string | null;
                            agent_name?: string | null;
                            actor_sub?: string | null;
                            actor_idp?: string | null;
                            payload_sha256?: string | null;
                            agent_kind?: string | null;
                            cost_micros?: number | null;
                            brain_evidence_sha256?: string | null;
                            brain_scores?: {
                                [key: string]: components["schemas"]["JsonInput"];
                            } | null;
                            tool_params_sha256?: string | null;
                            credential_fingerprint?: string | null;
                            upstream_id?: string | null;
                            tool_name?: string | null;
                            payload_canonical_json?: string | null;
                            brain_evidence_canonical_json?: string | null;
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
                            receipts: {
                                /** @enum {string} */
                                status: "created" | "retained";
                                id: string;
                                seq: number;
                                entry_hash: string;
                                chain_version: number;
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
                            receipts: {
                                /** @enum {string} */
                                status: "created" | "retained";
                                id: string;
                                seq: number;
                                entry_hash: string;
                                chain_version: number;
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
    "/export/regulatory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `ledger.export.regulatory`. */
        post: {
            parameters: {
                query?: {
                    tenant?: string;
                    from?: string;
                    to?: string;
                    include_exports?: string;
                    include_compliance?: string;
                    annex_iv?: string;
                    include_post_market_plan?: string;
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
                        "application/gzip": string;
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

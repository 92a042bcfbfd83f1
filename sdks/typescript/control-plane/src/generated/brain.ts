// Made from docs/openapi/brain.json by `npm run types`.
export interface paths {
    "/inspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.inspect`. */
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
                        jsonrpc?: string;
                        method: string;
                        /** @default {} */
                        params?: {
                            [key: string]: unknown;
                        };
                        id?: string | number;
                        correlation_id?: string;
                        tenant?: string | null;
                        /** @default [] */
                        prior_requests?: {
                            method: string;
                            tool: string;
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
                            authorized: boolean;
                            reason: string;
                            /** @enum {string} */
                            intent_category: "Direct Execution" | "Information Retrieval" | "Privileged Action" | "Meta-Reasoning";
                            persona_drift_score: number;
                            injection_detected: boolean;
                            injection_confidence: number;
                            injection_suspicions?: string[];
                            injected_at?: {
                                at: string;
                                call?: number;
                            }[];
                            intent_suspicions?: string[];
                            malicious_code_detected: boolean;
                            malicious_code_confidence: number;
                            compromised_package_detected: boolean;
                            compromised_package_confidence: number;
                            sequence_escalation_score: number;
                            drift_available: boolean;
                            behaviour?: {
                                available: boolean;
                                score_bp: number;
                                reasons: {
                                    /** @enum {string} */
                                    kind: "amount_far" | "amount_unread" | "currency" | "size" | "look_alike" | "amount" | "destination" | "tool" | "hour" | "order" | "shape";
                                    text: string;
                                }[];
                                calls: number;
                                days: number;
                                profile_sha256: string | null;
                            };
                            degraded?: string[];
                            cost_micros: number;
                            evidence: {
                                brain_version: string;
                                mock_mode: boolean;
                                provider_models: {
                                    [key: string]: string;
                                };
                                answered_by?: {
                                    [key: string]: string;
                                };
                                prompt_sha256: {
                                    [key: string]: string;
                                };
                                embedding_model: string;
                                drift_threshold: number;
                                injection_heuristic_level: string;
                                normalized_input_sha256?: string;
                                cache_served: boolean;
                            };
                            masked_params?: {
                                [key: string]: components["schemas"]["Json"];
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
    "/model-snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Capability `brain.models.read`. */
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
                            brain_version: string;
                            mock_mode: boolean;
                            provider_models: {
                                [key: string]: string;
                            };
                            embedding_model: string;
                            injection_heuristic_level: string;
                            minutes: number;
                            providers: {
                                name: string;
                                kind: string;
                                /** @enum {string} */
                                circuit: "closed" | "open" | "trying";
                                /** @enum {string} */
                                circuit_of_tenant: "closed" | "open" | "trying";
                                again_at: string | null;
                                asked: number;
                                failed: number;
                                not_asked: number;
                                last_failure: {
                                    failure: string;
                                    /** Format: date-time */
                                    at: string;
                                } | null;
                                last_answer_at: string | null;
                                budget: {
                                    used_percent: number;
                                    used_by_tenant_percent: number;
                                } | null;
                            }[];
                            lanes: {
                                /** @enum {string} */
                                lane: "intent" | "injection" | "malicious_code" | "compromised_package" | "answers" | "explain_pattern" | "narrate_decision";
                                tier: ("fast" | "deep") | null;
                                models: {
                                    alias: string;
                                    provider: string;
                                    model: string;
                                }[];
                                hedge_after_ms: number | null;
                            }[];
                            qualification: {
                                /** Format: date-time */
                                made_at: string;
                                /** Format: date-time */
                                counts_until: string;
                                report_sha256: string;
                                gate_version: string;
                                cases: number;
                                runs: number;
                                rounds: number;
                                /** @enum {string} */
                                result: "pass" | "fail";
                                checks: {
                                    of: string;
                                    value: number;
                                    at_least?: number;
                                    at_most?: number;
                                    holds: boolean;
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
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/scan-response": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.inspect`. */
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
                        correlation_id?: string;
                        agent_id: string;
                        tenant?: string | null;
                        method: string;
                        tool?: string;
                        response_body: string;
                        is_reply?: boolean;
                        /**
                         * @default [
                         *       "injection",
                         *       "data"
                         *     ]
                         */
                        lanes?: ("injection" | "data")[];
                        /**
                         * @default utf8_bytes
                         * @enum {string}
                         */
                        span_unit?: "utf8_bytes" | "utf16_units";
                        ask_models?: boolean;
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
                            exfiltration_risk: "clean" | "suspicious" | "high" | "critical";
                            confidence: number;
                            detected_entities: ("PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL")[];
                            spans: {
                                /** @enum {string} */
                                entity_type: "PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL";
                                start: number;
                                end: number;
                            }[];
                            /** @enum {string} */
                            span_unit: "utf8_bytes" | "utf16_units";
                            unlocated: ("PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL")[];
                            found: string[];
                            reasoning: string;
                            scanner_version: string;
                            answered_by?: string;
                            prompt_sha256?: string;
                            cost_micros?: number;
                            unread?: string;
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
    "/scan-request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.inspect`. */
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
                        correlation_id?: string;
                        agent_id: string;
                        tenant?: string | null;
                        method: string;
                        tool?: string;
                        /**
                         * @default utf8_bytes
                         * @enum {string}
                         */
                        span_unit?: "utf8_bytes" | "utf16_units";
                        request_body: string;
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
                            detected_entities: ("PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL")[];
                            spans: {
                                /** @enum {string} */
                                entity_type: "PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL";
                                start: number;
                                end: number;
                            }[];
                            /** @enum {string} */
                            span_unit: "utf8_bytes" | "utf16_units";
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
    "/scan-definitions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.inspect`. */
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
                        correlation_id?: string;
                        agent_id: string;
                        tenant?: string | null;
                        /** @default [] */
                        tools?: (string | ({
                            name: string;
                        } & {
                            [key: string]: unknown;
                        }))[];
                        /** @default [] */
                        texts?: {
                            name: string;
                            text: string;
                        }[];
                        /** @default [] */
                        entries?: {
                            text: string;
                            /** @default false */
                            name_identifies?: boolean;
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
                            flagged: {
                                index: number;
                                name: string;
                                confidence: number;
                                signals: string[];
                                like?: string;
                            }[];
                            flagged_texts: {
                                index: number;
                                name: string;
                                confidence: number;
                                signals: string[];
                                like?: string;
                            }[];
                            located: {
                                detected_entities: ("PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL")[];
                                spans: {
                                    /** @enum {string} */
                                    entity_type: "PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL";
                                    start: number;
                                    end: number;
                                }[];
                                unlocated: ("PROMPT_INJECTION" | "SUSPECTED_INJECTION" | "AWS_ACCESS_KEY" | "PRIVATE_KEY" | "API_TOKEN" | "DB_URI" | "SSN" | "CREDIT_CARD" | "EMAIL")[];
                                index: number;
                            }[];
                            degraded: boolean;
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
    "/scan-tool-name": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.inspect`. */
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
                        correlation_id?: string;
                        agent_id: string;
                        tenant?: string | null;
                        called: string;
                        catalog: string[];
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
                            lookalike: boolean;
                            nearest: string | null;
                            distance: number | null;
                            confidence: number;
                            signals: string[];
                            degraded: boolean;
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
    "/explain-pattern": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.patterns.explain`. */
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
                        tenant?: string | null;
                        kind: string;
                        tool_type: string;
                        threshold: {
                            [key: string]: components["schemas"]["JsonInput"];
                        };
                        evidence_count: number;
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
                            one_liner: string;
                            rationale: string;
                            model: string;
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
    "/narrate-decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description Capability `brain.decisions.narrate`. */
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
                        tenant?: string | null;
                        /** @enum {string} */
                        verdict: "approve" | "deny" | "modify";
                        risk_summary: string;
                        decision_reason?: string;
                        sandbox_severity?: string;
                        sandbox_operation_class?: string;
                        sandbox_targets?: string[];
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
                            incident_summary: string;
                            model: string;
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

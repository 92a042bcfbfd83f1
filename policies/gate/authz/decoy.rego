# Summary: Decoys. Nobody should call such a tool or use such a value, so who does may act for somebody else.
# Tier: deny

package gate.authz

import rego.v1

# METADATA
# title: Decoy
# description: The call touches a decoy. The reason is that of a tool that an operator denied, so that nobody learns from it what is a decoy.
deny contains "Violation: the operator denied this tool." if not free_of_decoys

free_of_decoys if object.get(input, "decoy", null) == null

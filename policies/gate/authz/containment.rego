# Summary: Containment. An agent under containment does nothing without a human, not even a read.
# Tier: review

package gate.authz

import rego.v1

# METADATA
# title: Containment
# description: An operator set the flag on the agent (gate contain agent --force-hil), or it is something other than a plain false.
review contains "Review: the agent is under containment; every call requires human approval." if not free_of_containment

free_of_containment if object.get(input, "force_hil", false) == false

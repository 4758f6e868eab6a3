export { noInstanceError, servedInstances } from '@spock/balancer';
export { instanceError, isConnectionError, outcomeOf, serviceError } from './integrations/call-errors.ts';
export {
	CONNECTION_TARGET_OPTIONS,
	ConnectionTarget,
	type ConnectionTargetOptions,
	DEFAULT_LOOKUP_TIMEOUT_MS,
	sniOf,
} from './integrations/connection-target.ts';
export { diplomatOption } from './integrations/diplomat-option.ts';
export type { HttpTargetOptions } from './integrations/http-target.ts';
export {
	type ConnectionLease,
	InstanceConnections,
	type InstanceConnectionsOptions,
} from './integrations/instance-connections.ts';
export { InstanceResources, type InstanceResourcesOptions } from './integrations/instance-resources.ts';
export { DEFAULT_NAME_SUFFIX, NameRule, type NameRuleOptions } from './integrations/name-rule.ts';
export {
	DEFAULT_RETRIES_MAX,
	FailedInstances,
	failedInstances,
	type RetryOptions,
	retry,
} from './integrations/retry.ts';

export { noInstanceError, servedInstances } from '@spock/balancer';
export { instanceKey } from '../lookups/instance-records.ts';
export { AppRegistration, type AppRegistrationData } from './app-registration.ts';
export { instanceError, isConnectionError, outcomeOf, serviceError } from './call-errors.ts';
export {
	CONNECTION_TARGET_OPTIONS,
	ConnectionTarget,
	type ConnectionTargetOptions,
	DEFAULT_LOOKUP_TIMEOUT_MS,
	diplomatOption,
	sniOf,
} from './connection-target.ts';
export {
	type ConnectionLease,
	InstanceConnections,
	type InstanceConnectionsOptions,
} from './instance-connections.ts';
export { InstanceResources, type InstanceResourcesOptions } from './instance-resources.ts';
export type { HttpTargetOptions } from './name-rule.ts';
export { DEFAULT_NAME_SUFFIX, NameRule, type NameRuleOptions } from './name-rule.ts';
export {
	DEFAULT_RETRIES_MAX,
	FailedInstances,
	failedInstances,
	type RetryOptions,
	retry,
} from './retry.ts';
export { plannerOf, standInsOf } from './work-plans.ts';

export { type BalancingPolicy, balancingPolicies, type CallOutcome } from '@spock/balancer';
export {
	type CallOptions,
	type ErrorCode,
	type ExplainReply,
	type FuncData,
	type FuncMap,
	type FuncName,
	type FuncReply,
	type KeyEntry,
	type KeyPrefixSnapshot,
	type KeyQuery,
	type KeySnapshot,
	type KeySource,
	type KeyValueSnapshot,
	type RegisterServiceData,
	type ReportedStatus,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceQuery,
	type ServiceRegistrar,
	type ServiceSnapshot,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';
export type { Closed } from './closed.ts';
export type { Config, ConfigListeners } from './config.ts';
export { type ConnectOptions, type CreateOptions, connect, createDiplomat } from './connect.ts';
export {
	type ConnectionAction,
	type ConnectionEvent,
	type ConnectionState,
	connectionMachine,
} from './connection-machine.ts';
export type {
	ConfigErrorMessage,
	ConnectMessage,
	DisconnectMessage,
	EjectionMessage,
	FaultMessage,
	GoawayMessage,
	LimitMessage,
	RegistrationMessage,
	RequestEndMessage,
	RequestMessage,
	RequestStartMessage,
	SkipMessage,
	SnapshotMessage,
	StateMessage,
	UnwatchedMessage,
	WindowMessage,
} from './diagnostics.ts';
export { Diplomat, type ReportedAddress } from './diplomat.ts';
export type { KnownServiceQuery, KnownServices, ServiceName } from './known-services.ts';
export type { Lease } from './lease.ts';
export type {
	AcquireOptions,
	GetServiceOptions,
	KeyOrQuery,
	LookupOptions,
	PickNowOptions,
	PrefixQuery,
	ServiceOrQuery,
} from './lookup-options.ts';
export type { ConfigOptions, PrefixConfigOptions } from './open-config.ts';
export {
	DEFAULT_DIAL_TIMEOUT_MS,
	DEFAULT_EJECT_AFTER_FAILURES,
	DEFAULT_EJECTED_PERCENT_MAX,
	DEFAULT_EJECTION_MS_MAX,
	DEFAULT_EJECTION_MS_MIN,
	DEFAULT_FALLBACK_AFTER_MS,
	DEFAULT_HEARTBEAT_MS,
	DEFAULT_IDLE_SUBSCRIPTION_MS,
	DEFAULT_READY_TIMEOUT_MS,
	DEFAULT_RETRY_DELAY_MS_MAX,
	DEFAULT_RETRY_DELAY_MS_MIN,
	DEFAULT_STABLE_MS,
	DEFAULT_SUBSCRIPTIONS_MAX,
	DEFAULT_TIMEOUT_MS,
	type DiplomatOptions,
} from './options.ts';
export type { ConfigParser, KeyName, StandardSchemaLike } from './parsed-keys.ts';
export type { Registration } from './registration.ts';
export type { DiplomatStatus, EjectedInstance, FallbackStatus } from './status.ts';
export { socketTransport, type Transport } from './transport.ts';

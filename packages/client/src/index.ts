export {
	type BalancingPolicy,
	balancingPolicies,
	type CallOutcome,
	type ZonePolicy,
	type ZoneShare,
	zonePolicies,
} from '@spock/balancer';
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
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
} from '@spock/protocol';
export type { Config, ConfigListeners } from './config/config.ts';
export type { ConfigParser, KeyName, StandardSchemaLike } from './config/config-reader.ts';
export type { ConfigOptions, PrefixConfigOptions } from './config/open-config.ts';
export { type ConnectOptions, type CreateOptions, connect, createDiplomat } from './connect.ts';
export { type ConnectionAction, connectionMachine } from './connection/connection-machine.ts';
export { Diplomat } from './diplomat.ts';
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
	SharesMessage,
	SkipMessage,
	SnapshotMessage,
	StateMessage,
	UnwatchedMessage,
	WindowMessage,
} from './foundation/diagnostics.ts';
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
} from './foundation/options.ts';
export type {
	Closed,
	ConnectionEvent,
	ConnectionState,
	DiplomatStatus,
	EjectedInstance,
	FallbackStatus,
} from './foundation/status.ts';
export { socketTransport, type Transport } from './foundation/transport.ts';
export type { Lease, ReportedAddress } from './lookups/instance-records.ts';
export type {
	AcquireOptions,
	GetServiceOptions,
	KeyOrQuery,
	KnownServiceQuery,
	KnownServices,
	LookupOptions,
	PickNowOptions,
	PrefixQuery,
	ServiceName,
	ServiceOrQuery,
} from './lookups/lookup-options.ts';
export type { Registration } from './registration/registration.ts';

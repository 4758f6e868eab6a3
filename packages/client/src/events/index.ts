export type {
	EventDeadMessage,
	EventEmittedMessage,
	EventHandleEndMessage,
	EventHandleStartMessage,
	EventMessage,
	EventNackedMessage,
	EventRefusedMessage,
} from '../foundation/event-diagnostics.ts';
export {
	type ConsumeOptions,
	DEFAULT_ACK_WAIT_MS,
	DEFAULT_ATTEMPTS,
	DEFAULT_CONCURRENCY,
	DEFAULT_CONSUMER_IN_FLIGHT_MAX,
	type HandleOptions,
} from './consume/consume-options.ts';
export type { ConsumerClosedMessage, ConsumerMessage, ConsumerOpenedMessage } from './consume/consumer-diagnostics.ts';
export {
	type ConsumerAction,
	type ConsumerEvent,
	type ConsumerState,
	consumerMachine,
} from './consume/consumer-machine.ts';
export type { EventSchema, EventUpgrades } from './consume/event-shapes.ts';
export type { EventHandler, HandlerContext } from './consume/handler-pool.ts';
export type { ReceivedEvent } from './consume/received-event.ts';
export { Events, type FlushOptions, type PublishOptions } from './events.ts';
export type {
	ConsumedStream,
	EventPayloadOf,
	EventSchemas,
	KnownEvents,
	RelayedEvent,
	StreamName,
	StreamUpgrades,
} from './known-events.ts';
export { type EventsOptions, openEvents } from './open-events.ts';
export type { EmitOptions } from './produce/encode-event.ts';
export type { PublishLevel } from './produce/event-waits.ts';
export { type OutboxAction, type OutboxEvent, type OutboxStateName, outboxMachine } from './produce/outbox-machine.ts';
export type {
	ProducerMessage,
	ProducerProgressMessage,
	ProducerStateMessage,
	ProducerWindowMessage,
} from './produce/producer-diagnostics.ts';
export {
	DEFAULT_BUFFER_BYTES_MAX,
	DEFAULT_BUFFER_EVENTS_MAX,
	DEFAULT_DRAIN_TIMEOUT_MS,
	DEFAULT_HIGH_WATER_BYTES,
	DEFAULT_STALL_MS,
	type ProducerOptions,
} from './produce/producer-options.ts';
export type { ProducerStatus } from './produce/producer-status.ts';
export {
	type AnyRelayedEvent,
	DEFAULT_RELAY_EVENTS_MAX,
	DEFAULT_RELAY_POLL_MS,
	type RelayOptions,
} from './produce/relay-options.ts';

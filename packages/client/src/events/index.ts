export { Events, type FlushOptions, type PublishOptions } from './events.ts';
export type { EventPayloadOf, EventSchema, EventSchemas, KnownEvents, StreamName } from './known-events.ts';
export { type EventsOptions, openEvents } from './open-events.ts';
export type { EmitOptions } from './produce/encode-event.ts';
export type { PublishLevel } from './produce/event-waits.ts';
export { type OutboxAction, type OutboxEvent, type OutboxStateName, outboxMachine } from './produce/outbox-machine.ts';
export type {
	AckedMessage,
	EmittedMessage,
	EventWindowMessage,
	ProducerMessage,
	ProducerStateMessage,
	RefusedMessage,
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

export { EventService, type EventServiceLimits, type EventServiceOptions } from './event-service.ts';
export type { Consumer, ConsumerSink, Delivery } from './foundation/consumer.ts';
export type { EventPage, LogMemory, ReadEvents, RecordLog } from './foundation/event-log.ts';
export type { Intake, OpenedProducer, ProducerLine, Uplink } from './foundation/event-sessions.ts';
export type { EventStore, StoreReader, StoreReaderOptions } from './foundation/event-store.ts';
export type { DamageReport, EventsObserver, LeftAtExit } from './foundation/events-observer.ts';
export type { Files, ReadableFile, WritableFile } from './foundation/files.ts';
export type { LogOwner } from './foundation/log-owner.ts';
export type {
	EventOrigin,
	LogEvent,
	LogRecord,
	NewEvent,
	NewNote,
	NewRecord,
	RecordPlace,
} from './foundation/log-record.ts';

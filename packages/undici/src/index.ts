export type { DispatcherOptions } from './agents.ts';
export type { AnyAgentClass, AnyDispatch, AnyDispatcher } from './any-undici.ts';
export {
	createDispatcher,
	createFetch,
	type DispatcherOf,
	type FetchDispatcher,
	type ServiceDispatcher,
	type ServiceFetch,
} from './dispatcher.ts';
export { type SpockInterceptor, spockInterceptor } from './interceptor.ts';
export { DEFAULT_CONNECT_RETRIES_MAX, type ServiceOptions } from './service-dispatch.ts';

export { createFetch, type ServiceFetch } from './create-fetch.ts';
export {
	createDispatcher,
	type DispatcherOf,
	type DispatcherOptions,
	type FetchDispatcher,
	type ServiceDispatcher,
} from './dispatcher.ts';
export { type SpockInterceptor, spockInterceptor } from './interceptor.ts';
export type { ServiceOptions } from './service-dispatch.ts';
export type { AnyAgentClass, AnyDispatch, AnyDispatcher } from './undici-types.ts';

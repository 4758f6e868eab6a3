export { AppRegistration, type AppRegistrationData } from '@spock/client/integrations';
export { diplomatToken, InjectDiplomat } from './diplomat-token.ts';
export { SpockHealthIndicator, type SpockHealthOptions, type SpockHealthResult } from './spock-health-indicator.ts';
export {
	type SpockClientOptions,
	SpockModule,
	type SpockModuleAsyncOptions,
	type SpockModuleExtras,
	type SpockModuleOptions,
} from './spock-module.ts';

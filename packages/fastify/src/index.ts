export type { AppRegistrationData } from '@spock/client/integrations';
export { type SpockPluginOptions, spock, spock as default } from './spock-plugin.ts';

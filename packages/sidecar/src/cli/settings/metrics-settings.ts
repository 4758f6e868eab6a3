import { DEFAULT_METRICS_SERVICES_MAX } from '../../admin/metrics/oldest-services.ts';
import type { Setting } from './settings.ts';

/** Settings of the metrics. */
export const metricsSettings: readonly Setting[] = [
	{
		name: 'metricsServicesMax',
		flag: '--metrics-services-max <count>',
		env: 'SPOCK_METRICS_SERVICES_MAX',
		help: 'services whose age is a metric by name, the oldest first',
		kind: 'integer',
		fallback: String(DEFAULT_METRICS_SERVICES_MAX),
	},
];

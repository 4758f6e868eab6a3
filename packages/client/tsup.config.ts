import { packageConfig } from '../../tsup.base.ts';

export default packageConfig({
	index: 'src/index.ts',
	integrations: 'src/integrations/index.ts',
	otel: 'src/otel.ts',
	tls: 'src/tls.ts',
});

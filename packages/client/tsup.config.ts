import { packageConfig } from '../../tsup.base.ts';

export default packageConfig({ index: 'src/index.ts', tls: 'src/tls.ts' });

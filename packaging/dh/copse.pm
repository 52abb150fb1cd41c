# debhelper sequence file for copse

use strict;
use warnings;

use Debian::Debhelper::Dh_Lib;

insert_after('dh_installsystemd', 'dh_copse');

1;

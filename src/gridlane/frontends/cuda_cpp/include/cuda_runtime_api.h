// Every source has its contents already.
#pragma once

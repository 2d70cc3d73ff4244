#include <vx/vx.h>

#include <string_view>

int main() { return std::string_view(vx_status_name(VX_E_CYCLE)) == "VX_E_CYCLE" ? 0 : 1; }
